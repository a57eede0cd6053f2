// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudMirroring
import CloudWire
import Foundation
import MirroringCore
import Testing

/// Content that is sealed piece by piece.
@Suite struct SealedPiecesTests {
    private static let keys = "tarn-key-1:" + Data(repeating: 7, count: 32).base64EncodedString()

    private func sealer(_ container: String = "iCloud.n") throws -> RecordSealer {
        RecordSealer(keys: EncryptionKeyRing(try .text(Self.keys), container: container), container: container)
    }

    private func seal(_ content: Data) throws -> Data {
        var sealed = Data()
        try sealer().sealPieces(of: .data(content), of: "A", "f", in: Self.place) { sealed += $0 }
        return sealed
    }

    private func open(
        _ sealed: Data, _ sealer: RecordSealer, _ record: String = "A", _ field: String = "f", in place: RecordSealer.Place = place
    ) throws -> Data {
        var opened = Data()
        if let reason = try sealer.openPieces(sealed, of: record, field, in: place, { opened += $0 }) { throw Unreadable(reason: reason) }
        return opened
    }

    private struct Unreadable: Error {
        let reason: UnreadableReason
    }

    private static let place = RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: "home"))

    private static func content(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }) }
    private static let piece = SealedPieces.pieceBytes

    @Test(arguments: [0, 1, piece - 1, piece, piece + 1, 3 * piece]) func contentOfAnyLengthComesBack(_ count: Int) throws {
        let content = Self.content(count)
        let sealed = try seal(content)
        #expect(try open(sealed, sealer()) == content)
        #expect(sealed.count == 25 + count + 16 * max(1, (count + Self.piece - 1) / Self.piece))
        // A file is mapped, and need not begin at 0; it can also be opened from memory.
        #expect(try open((Data([0]) + sealed).dropFirst(), sealer()) == content)
        let opening = try sealer().open([UInt8](sealed), of: "A", "f", in: Self.place)
        guard case .opened(let opened, _, _) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(opened == [UInt8](content))
        // The same content never looks the same.
        #expect(try seal(content) != sealed)
    }

    @Test func alteredPiecesDoNotDecrypt() throws {
        let sealed = try seal(Self.content(2 * Self.piece + 100))
        let whole = Self.piece + 16
        var changed = sealed, swapped = sealed
        changed[25 + whole + 5] ^= 1
        swapped.replaceSubrange(25..<25 + whole, with: sealed[(25 + whole)..<(25 + 2 * whole)])
        swapped.replaceSubrange((25 + whole)..<(25 + 2 * whole), with: sealed[25..<25 + whole])
        var salted = sealed, foreign = sealed
        salted[12] ^= 1
        foreign[3] ^= 1
        let cut = [
            sealed.dropLast(), sealed.prefix(25 + 2 * whole), sealed.prefix(25 + whole), sealed.prefix(25), sealed.prefix(3), Data(),
        ]
        for bad in [changed, swapped, salted, foreign, sealed + Data([0]), sealed + sealed.suffix(whole)] + cut {
            #expect(throws: Unreadable.self) { try open(bad, sealer()) }
        }
        // In another place it means nothing.
        for (record, field, container) in [("B", "f", "iCloud.n"), ("A", "g", "iCloud.n"), ("A", "f", "iCloud.m")] {
            #expect(throws: Unreadable.self) { try open(sealed, sealer(container), record, field) }
        }
        for place in [
            RecordSealer.Place(environment: .production, zone: ZoneID(zoneName: "home")),
            RecordSealer.Place(environment: .development, zone: ZoneID(zoneName: "share")),
        ] {
            #expect(throws: Unreadable.self) { try open(sealed, sealer(), in: place) }
        }
    }

    /// What earlier versions of the library sealed.
    @Test func onePieceOfTheFirstFormatStillOpens() throws {
        let sample = "ARHDthy1gOb4AAECAwQFBgcICQoLa+SIHHht+SUY3IK8gz8DFGxsPWF1944re2IeqcAPzQ=="
        let opening = try sealer().open([UInt8](try #require(Data(base64Encoded: sample))), of: "A", "f", in: Self.place)
        guard case .opened(let opened, let number, _) = opening else {
            Issue.record("\(opening)")
            return
        }
        #expect(number == 0)
        #expect(String(decoding: opened, as: UTF8.self) == "sealed long ago")
    }

    /// A process that ends during an import leaves no decrypted content behind.
    @Test func fileOfDecryptedContentHasNoName() throws {
        let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 11) })
        let file = try AssetFile(hasName: false)
        try file.write(content)
        #expect(!FileManager.default.fileExists(atPath: file.url.path))
        let mapped = try file.mapped()
        try file.close()
        #expect(mapped == content)
        let named = try AssetFile()
        defer { named.remove() }
        try named.close()
        let attributes = try FileManager.default.attributesOfItem(atPath: named.url.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    /// Pieces of the format without zone and environment.
    @Test func piecesOfTheSecondFormatStillOpen() throws {
        let sample = "AhHDthy1gOb4AAECAwQFBgcICQoLDA0ODynoSFQuqncM7Vas1EVuyPPkBT49LWFzOIODFsnNKuPGAXw="
        let opened = try open(try #require(Data(base64Encoded: sample)), sealer())
        #expect(String(decoding: opened, as: UTF8.self) == "in pieces long ago")
    }
}
