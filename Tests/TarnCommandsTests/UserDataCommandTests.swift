// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudInProcess
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// `tarn user export` and `tarn user remove` while a server runs.
@Suite struct UserDataCommandTests {
    private static let container = "iCloud.org.example.notes"

    private func run<Command: AsyncParsableCommand>(_ type: Command.Type, _ arguments: String...) async -> String? {
        do {
            var command = try Command.parse(arguments)
            try await command.run()
            return nil
        } catch {
            return Command.message(for: error)
        }
    }

    private func post(
        _ message: some WireMessage, _ scope: DatabaseScope, _ operation: ServicePath.Operation, _ store: SQLiteServerStore, token: String
    ) async -> Int {
        let service = CloudService(
            engine: Engine(sealer: store.sealer), storage: store, accounts: store, assets: store, push: PushHub(),
            surroundings: CloudService.Surroundings(
                now: { 2 }, randomBytes: { SeededBytes().next($0) }))
        let path = ServicePath(containerIdentifier: Self.container, environment: .development, scope: scope, operation: operation)
        let request = ServiceRequest(
            method: operation.method, path: path.path, headers: ["authorization": "Bearer \(token)"], body: .bytes(message.encoded()),
            baseURL: "http://tarn.example")
        return await service.respond(to: request).status
    }

    private func json(_ path: String) throws -> [String: Any] {
        let bytes = try #require(FileManager.default.contents(atPath: path))
        return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }

    @Test func everythingOfAUserIsExportedAndThenRemoved() async throws {
        let folder = ScratchFolder("tarn-user-data")
        let (data, copy) = ("\(folder.path)/data", "\(folder.path)/copy")
        let server = try SQLiteServerStore(path: data, use: .server)
        let token = try await server.addUser(name: "amaryllis", deviceLabel: "tablet", now: 1)
        try await server.updateProfile(ofUser: "amaryllis") { $0.emailAddress = "amaryllis@example.org" }
        let zoneID = ZoneID(zoneName: "Rose/Garden")
        #expect(await post(ZonesModifyRequest(operations: [.create(zoneID)]), .private, .modifyZones, server, token: token) == 200)
        let records = (0..<3).map {
            RecordOperation(.create, Record(recordName: "r\($0)", recordType: "Plant", fields: ["name": Field(.string("Sage"))]))
        }
        #expect(
            await post(ModifyRecordsRequest(operations: records, zoneID: zoneID), .private, .modifyRecords, server, token: token) == 200)
        let published = ModifyRecordsRequest(operations: [RecordOperation(.create, Record(recordName: "post", recordType: "Post"))])
        #expect(await post(published, .public, .modifyRecords, server, token: token) == 200)
        let subscription = SubscriptionsModifyRequest(operations: [.create(Subscription(subscriptionID: "all", kind: .database))])
        #expect(await post(subscription, .private, .modifySubscriptions, server, token: token) == 200)

        #expect(
            await run(UserCommand.Export.self, "nobody", "--to", copy, "--data", data)?.contains("The user nobody does not exist") == true)
        let exported = await CommandRun("user", "export", "amaryllis", "--to", copy, "--json", "--data", data)
        #expect(exported.status == 0, "\(exported.notes)")
        #expect(exported.output.contains(#""records":4,"#), "\(exported.output)")
        #expect(await run(UserCommand.Export.self, "amaryllis", "--to", copy, "--data", data)?.contains("new folder") == true)
        let account = try json("\(copy)/account.json")
        #expect(account["emailAddress"] as? String == "amaryllis@example.org")
        #expect((account["devices"] as? [[String: Any]])?.first?["label"] as? String == "tablet")
        let path = "\(copy)/\(Self.container)/development"
        let zone = try json("\(path)/zones/Rose%2FGarden.json")
        #expect((zone["records"] as? [[String: Any]])?.count == 3)
        #expect(try (json("\(path)/public.json")["records"] as? [[String: Any]])?.compactMap { $0["recordName"] as? String } == ["post"])
        #expect(try (json("\(path)/subscriptions.json")["private"] as? [Any])?.count == 1)
        let files = try FileManager.default.subpathsOfDirectory(atPath: copy)
        #expect(!files.isEmpty)
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(copy)/\(file)")
            let mode = try #require(attributes[.posixPermissions] as? Int)
            #expect(mode & 0o077 == 0, "\(file)")
            guard let bytes = FileManager.default.contents(atPath: "\(copy)/\(file)") else { continue }
            #expect(bytes.range(of: Data(token.utf8)) == nil, "\(file)")
        }

        let refused = await run(UserCommand.Remove.self, "amaryllis", "--public-records", "remove", "--data", data)
        #expect(refused?.contains("--yes") == true)
        #expect(await run(UserCommand.Remove.self, "amaryllis", "--yes", "--data", data)?.contains("--public-records") == true)
        #expect(try await server.device(forToken: token, now: 2) != nil)
        // Of a server that runs; the command does not know its zone.
        let snapshots = "\(data)/snapshots/0"
        try FileManager.default.createDirectory(atPath: snapshots, withIntermediateDirectories: true)
        try Data("amaryllis".utf8).write(to: URL(fileURLWithPath: "\(snapshots)/0123.snapshot"))
        let removed = await CommandRun("user", "remove", "amaryllis", "--public-records", "remove", "--yes", "--json", "--data", data)
        #expect(try FileManager.default.contentsOfDirectory(atPath: snapshots).isEmpty)
        #expect(removed.status == 0, "\(removed.notes)")
        #expect(removed.output.hasPrefix(#"{"name":"amaryllis","zones":"#), "\(removed.output)")
        // A running server refuses the token immediately.
        #expect(try await server.device(forToken: token, now: 2) == nil)
        #expect(await post(ZonesModifyRequest(operations: [.create(zoneID)]), .private, .modifyZones, server, token: token) == 401)
        #expect(try await server.users().isEmpty)
        let events = try await server.auditEvents(before: nil, limit: 10).map(\.event)
        #expect(events.map(\.action) == ["user.remove", "user.export"])
        try server.close()
    }

    @Test func signInIsExportedWithoutSecretsAndWithoutLinesOfOthers() async throws {
        let folder = ScratchFolder("tarn-user-sign-in")
        let (data, copy) = ("\(folder.path)/data", "\(folder.path)/copy")
        let server = try SQLiteServerStore(path: data, use: .server)
        // `_` and `%` in a pattern would stand for other letters.
        for name in ["a_b", "axb"] { _ = try await server.addUser(name: name, deviceLabel: "tablet", now: 1) }
        try await server.addIdentity(Identity(issuer: "https://id.example.org", subject: "subject-1"), ofUser: "a_b", now: 1)
        let account = try #require(try await server.account(named: "a_b"))
        let secret = try await server.beginSecondFactor(ofAccount: account, now: 60_000)
        let code = TimeCode.code(of: secret, step: TimeCode.step(at: 60_000))
        let recoveryCodes = try #require(try await server.confirmSecondFactor(ofAccount: account, code: code, now: 60_000))
        for name in ["a_b", "axb", "A_B"] {
            try await server.append(
                AuditEvent(time: 1, actor: .commandLine("root"), action: "user.revoke", subject: "\(name), phone", outcome: .done))
        }

        #expect(await run(UserCommand.Export.self, "a_b", "--to", copy, "--data", data) == nil)
        let exported = try json("\(copy)/account.json")
        #expect((exported["identities"] as? [[String: String]]) == [["issuer": "https://id.example.org", "subject": "subject-1"]])
        #expect(exported["secondFactorSince"] as? Int == 60_000)
        let text = String(decoding: try #require(FileManager.default.contents(atPath: "\(copy)/account.json")), as: UTF8.self)
        for recoveryCode in recoveryCodes { #expect(!text.contains(recoveryCode)) }
        let bytes = try #require(FileManager.default.contents(atPath: "\(copy)/audit.json"))
        let events = try #require(try JSONSerialization.jsonObject(with: bytes) as? [[String: Any]])
        #expect(events.compactMap { $0["subject"] as? String } == ["a_b, phone"])
        try server.close()
    }

    @Test(arguments: [
        ("Garden", "Garden"), ("../..", "..%2F.."), ("Größe 1", "Gr%C3%B6%C3%9Fe%201"), (String(repeating: "/", count: 100), "zone+7"),
        ("zone+7", "zone%2B7"),
    ])
    func aZoneHasAFileNameOfItsOwn(_ row: (name: String, file: String)) {
        #expect(UserExport.fileName(ofZone: row.name, 7) == row.file)
    }
}
