// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Testing

/// Random records against another implementation of JSON.
@Suite struct RoundTripTests {
    @Test(arguments: UInt64(1)...40)
    func aRecordComesBackAndFoundationReadsTheSame(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let record = RandomRecords.record(using: &random)
        let json = record.encoded()
        #expect(try Record(json: json) == record)

        let tree = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        let fields = try #require(tree["fields"] as? [String: [String: Any]])
        #expect(Set(fields.keys) == Set(record.fields.keys))
        for (name, field) in record.fields {
            let seen = fields[name]?["value"]
            #expect(Oracle.agrees(seen, field.value), "field \(name) of seed \(seed)")
        }
    }

    @Test(arguments: UInt64(1)...40)
    func foundationsEncodingIsDecodedIdentically(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let record = RandomRecords.record(using: &random)
        let tree = try JSONSerialization.jsonObject(with: Data(record.encoded()))
        for options in [[], [.prettyPrinted], [.withoutEscapingSlashes, .sortedKeys]] as [JSONSerialization.WritingOptions] {
            let json = try JSONSerialization.data(withJSONObject: tree, options: options)
            #expect(try Record(json: Array(json)) == record)
        }
    }
}

private enum Oracle {
    /// Foundation parses fractions as decimal numbers: the digits are exact, and `doubleValue` isn't.
    static func double(_ seen: Any?) -> Double? { (seen as? NSNumber).flatMap { Double($0.stringValue) } }

    static func agrees(_ seen: Any?, _ value: FieldValue?) -> Bool {
        switch value {
        case nil: seen is NSNull
        case .string(let text): seen as? String == text
        case .int64(let number), .timestamp(let number): (seen as? NSNumber)?.int64Value == number
        case .double(let number): double(seen)?.bitPattern == number.bitPattern
        case .bytes(let bytes): (seen as? String).flatMap { Data(base64Encoded: $0) } == Data(bytes)
        case .reference(let reference): (seen as? [String: Any])?["recordName"] as? String == reference.recordName
        case .location(let location): double((seen as? [String: Any])?["latitude"]) == location.latitude
        case .asset(let asset): ((seen as? [String: Any])?["size"] as? NSNumber)?.int64Value == asset.size
        case .list(let elements, _):
            (seen as? [Any])?.count == elements.count
                && zip(seen as? [Any] ?? [], elements).allSatisfy { agrees($0, $1) }
        }
    }
}

private enum RandomRecords {
    static func record(using random: inout SeededRandom) -> Record {
        var record = Record(recordName: word(using: &random) + "!", recordType: "T")
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let name = "f" + word(using: &random)
            record.fields[name] = Field(value(using: &random), isEncrypted: Bool.random(using: &random))
        }
        record.modified = RecordStamp(timestamp: Int64.random(in: 0...(1 << 50), using: &random), userRecordName: "_u")
        return record
    }

    static func value(using random: inout SeededRandom) -> FieldValue? {
        guard Int.random(in: 0..<10, using: &random) > 0 else { return nil }
        let type = FieldType.allCases.randomElement(using: &random) ?? .string
        guard Int.random(in: 0..<4, using: &random) == 0 else { return value(of: type, using: &random) }
        let count = Int.random(in: 0...4, using: &random)
        return .list((0..<count).map { _ in value(of: type, using: &random) }, of: type)
    }

    static func value(of type: FieldType, using random: inout SeededRandom) -> FieldValue {
        switch type {
        case .string: .string(word(using: &random))
        case .int64: .int64(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
        case .double: .double(double(using: &random))
        case .timestamp: .timestamp(Int64.random(in: -(1 << 53)...(1 << 53), using: &random))
        case .bytes: .bytes((0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        case .reference:
            .reference(
                RecordReference(
                    recordName: word(using: &random),
                    zoneID: Bool.random(using: &random) ? ZoneID(zoneName: word(using: &random)) : nil, action: .validate))
        case .location: .location(RecordLocation(latitude: Double.random(in: -90...90, using: &random), longitude: 1))
        case .asset:
            .asset(AssetValue(fileChecksum: word(using: &random), size: Int64.random(in: 0...50_000_000, using: &random)))
        }
    }

    static func double(using random: inout SeededRandom) -> Double {
        let value = Double(bitPattern: random.next())
        return value.isFinite && value != 0 ? value : 0.5
    }

    /// Texts with everything a string may hold: escapes, control characters, one to four bytes a character.
    static func word(using random: inout SeededRandom) -> String {
        let letters: [Unicode.Scalar] = ["a", "Z", "7", "\"", "\\", "/", "\n", "\u{1}", "\u{7F}", "é", "€", "\u{2028}", "😀", "\u{FFFD}"]
        var word = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...20, using: &random) { word.append(letters.randomElement(using: &random) ?? "a") }
        return String(word)
    }
}
