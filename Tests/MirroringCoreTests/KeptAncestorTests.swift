// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import Testing
import ValueSimulation

@testable import MirroringCore

/// What bookkeeping keeps of a record's fields.
@Suite struct KeptAncestorTests {
    private static let stamp = RecordStamp(timestamp: 1_900_000_000_123, userRecordName: "_mia", deviceID: "tablet")

    private static let fields: [String: Field] = [
        "CD_title": Field(.string("Säge \u{1F332}\u{0}")), "CD_empty": Field(.string("")), "CD_count": Field(.int64(.min)),
        "CD_size": Field(.int64(63)), "CD_price": Field(.double(-0.1)), "CD_limit": Field(.double(.greatestFiniteMagnitude)),
        "CD_made": Field(.timestamp(-62_135_769_600_000)), "CD_data": Field(.bytes([0, 0x7B, 255])), "CD_none": Field(.bytes([])),
        "CD_secret": Field(.bytes([1, 2, 3]), isEncrypted: true), "CD_word": Field(.string("sealed"), isEncrypted: true),
        "CD_place": Field(.location(RecordLocation(latitude: 46.5, longitude: 8.1))),
        "CD_tags": Field(.list([.string("a"), .string("b")], of: .string)), "CD_nothing": Field(.list([], of: nil)),
        "CD_file_ckAsset": Field(.asset(AssetValue(fileChecksum: "AQID", size: 5))),
        "": Field(.int64(-1)),
    ]

    private func kept(_ fields: [String: Field], _ stamp: RecordStamp?) throws -> [UInt8] {
        try #require(KeptAncestor(Ancestor(fields: fields), stamp)).bytes
    }

    @Test func everyKindOfFieldRoundTripsThroughAMergeBase() throws {
        let stamps = [Self.stamp, RecordStamp(timestamp: -1, userRecordName: ""), nil]
        for stamp in stamps {
            let (fields, modified) = try KeptAncestor.read(kept(Self.fields, stamp))
            #expect(fields == Self.fields)
            #expect(modified == stamp)
        }
        let (none, modified) = try KeptAncestor.read(kept([:], Self.stamp))
        #expect(none.isEmpty)
        #expect(modified == Self.stamp)
        #expect(KeptAncestor(Ancestor(), nil) == nil)
    }

    /// A store that an earlier version wrote.
    @Test func mergeBasesOfEarlierVersionsAreRead() throws {
        var record = Record(recordName: "", fields: Self.fields)
        record.modified = Self.stamp
        let (fields, modified) = try KeptAncestor.read(record.encoded())
        #expect(fields == Self.fields)
        #expect(modified == Self.stamp)
    }

    @Test func aMergeBaseIsSmallerThanItsEncodedRecord() throws {
        let post: [String: Field] = [
            "CD_entityName": Field(.string("Post")), "CD_title": Field(.string("Post 000000000000001")),
            "CD_content": Field(.string(String(repeating: "a", count: 200))), "CD_timestamp": Field(.timestamp(1_700_000_000_000)),
            "CD_uuid": Field(.string("6F9619FF-8B86-4011-B42D-00CF4FC964FF")),
        ]
        var record = Record(recordName: "", fields: post)
        record.modified = Self.stamp
        #expect(try Double(kept(post, Self.stamp).count) < 0.75 * Double(record.encoded().count))
    }

    /// Damaged bytes are reported as unreadable, without further effect.
    @Test func aMalformedMergeBaseIsAnError() throws {
        let bytes = try kept(Self.fields, Self.stamp)
        for count in 0..<bytes.count { #expect(throws: WireError.self) { try KeptAncestor.read([UInt8](bytes.prefix(count))) } }
        #expect(throws: WireError.self) { try KeptAncestor.read(bytes + [0]) }
        #expect(throws: WireError.self) { try KeptAncestor.read([1, 0] + [UInt8](repeating: 0xFF, count: 10)) }
        var random = SeededRandom(seed: 1)
        for _ in 0..<300 {
            var spoiled = bytes
            for _ in 0..<3 { spoiled[Int.random(in: 0..<spoiled.count, using: &random)] = UInt8.random(in: 0...255, using: &random) }
            _ = try? KeptAncestor.read(spoiled)
        }
    }
}
