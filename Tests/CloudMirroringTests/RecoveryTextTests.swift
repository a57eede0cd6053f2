// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudMirroring
import CoreData
import Foundation
import MirroringCore
import TestBasics
import Testing

/// Keys on paper.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RecoveryTextTests {
    private static let bytes = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 5) }
    private static let keys = [
        EncryptionKey(bytes: bytes), EncryptionKey(bytes: bytes.reversed(), generation: 3),
        EncryptionKey(bytes: bytes, generation: 1, zone: MirrorNames.shareZonePrefix + "6F1A1C0E-0000-4000-8000-0123456789AB"),
    ]

    @Test(arguments: keys) func lineHoldsTheKey(_ key: EncryptionKey) throws {
        let line = RecoveryLine.text(of: key)
        #expect(line.hasPrefix("TARN1-"))
        #expect(line.split(separator: "-").dropFirst().dropLast().allSatisfy { $0.count == 5 })
        let sloppy = line.lowercased().replacingOccurrences(of: "0", with: "o").replacingOccurrences(of: "1", with: "l")
            .replacingOccurrences(of: "tarnl", with: "tarn1")
        let spaced = "TARN1-" + line.dropFirst(6).replacingOccurrences(of: "-", with: "  ")
        for text in [line, sloppy, spaced, "# printed\n\n\(line)\n"] { #expect(try EncryptionKey.parse(text) == [key], "\(text)") }
    }

    @Test func everyTypingErrorIsFound() throws {
        let line = Array(RecoveryLine.text(of: Self.keys[0]))
        for index in line.indices.dropFirst(6) where line[index] != "-" {
            var wrong = line
            wrong[index] = line[index] == "7" ? "8" : "7"
            #expect(RecoveryLine.key(String(wrong)) == nil, "character \(index)")
            var left = line
            left.remove(at: index)
            #expect(RecoveryLine.key(String(left)) == nil, "without character \(index)")
        }
        for text in ["TARN1-", "TARN1-00000", "TARN1-U", String(line) + "0", String(repeating: "TARN1-", count: 400)] {
            #expect(RecoveryLine.key(text) == nil, "\(text)")
        }
        let error = #expect(throws: CocoaError.self) { try EncryptionKey.parse("\n" + String(line.dropLast())) }
        #expect(error?.localizedDescription.contains("Line 2 has a typing error") == true)
    }

    @Test func deviceReadsItsDataAgainFromPaper() async throws {
        let stage = try await HostileStage()
        let tablet = try await stage.device("tablet")
        try tablet.edit { $0.insert("Post", ["title": "a", "content": "one"]) }
        try await tablet.sync()
        let store = try #require(tablet.container.persistentStoreCoordinator.persistentStores.first)
        let paper = try tablet.container.encryptionRecoveryText(of: store)
        try await tablet.discard()
        let own = EncryptedPosts.keyFile()
        let phone = try await stage.device("phone", keys: own)
        try await phone.sync()
        #expect(try phone.unreadable == ["content missingKey"])
        try phone.container.addEncryptionKeys(
            paper.lowercased(), to: try #require(phone.container.persistentStoreCoordinator.persistentStores.first))
        try await phone.sync()
        #expect(try phone.text("content", of: "a") == "one")
    }
}
