// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import Testing

/// Imports on servers with other limits than the default ones.
@Suite struct ImportLimitTests {
    private static let page = "\(ConsoleTests.base)/records/import?place=private/Garden&type=Thing"

    /// The answer to an import of a record with a name of 290 characters.
    private func answer(nameCharactersMax: Int) async throws -> String {
        var limits = Limits()
        limits.recordNameCharacters = nameCharactersMax
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        try await village.store.setPassword("correct horse", ofUser: "mia")
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        try await mia.modify([RecordOperation(.create, Record(recordName: "first", recordType: "Thing"))])
        let visitor = BrowserSession(village)
        let signedIn = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        try #require(signedIn.status == 303)
        let record = Record(recordName: String(repeating: "n", count: 290), recordType: "Thing")
        let line = String(decoding: record.encoded(), as: UTF8.self)
        return await visitor.post(Self.page, ["text": line, "existing": "keep"]).text
    }

    @Test func namesThatARaisedLimitPermitsAreImported() async throws {
        let text = try await answer(nameCharactersMax: 300)
        #expect(text.contains("1 of 1 record imported."), "\(text)")
    }

    @Test func aLongerNameIsNamedWithItsLineAndTheLimitOfTheServer() async throws {
        let text = try await answer(nameCharactersMax: 280)
        #expect(text.contains("Line 1: "), "\(text)")
        #expect(text.contains("a record name has 1 to 280 ASCII characters"), "\(text)")
    }
}
