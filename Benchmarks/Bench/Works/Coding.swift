// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// C1: 200 records to JSON and back, by the wire's own codec and by Foundation's.
enum Coding {
    static let foundation = "Foundation"
    private static let count = 200
    private static let batches = 20

    static func works() throws -> [Work] {
        let answer = ModifyRecordsResponse(results: (0..<count).map { .record(record($0)) })
        let bytes = answer.encoded()
        let plain = try JSONDecoder().decode(PlainBatch.self, from: Data(bytes))
        let title = "\(batches) × \(count) records (\(bytes.count) bytes of JSON)"
        return [
            Work(
                id: "C1E", title: "encode \(title)", repeats: 3,
                entrants: [
                    work(Entrant.tarn) { answer.encoded().count > 0 ? count : 0 },
                    work(foundation) { try JSONEncoder().encode(plain).isEmpty ? 0 : count },
                ]),
            Work(
                id: "C1D", title: "decode \(title)", repeats: 3,
                entrants: [
                    work(Entrant.tarn) { try ModifyRecordsResponse(json: bytes).results.count },
                    work(foundation) { try JSONDecoder().decode(PlainBatch.self, from: Data(bytes)).records.count },
                ]),
        ]
    }

    private static func work(_ name: String, _ batch: @escaping () throws -> Int) -> Entrant {
        Entrant(name) { Trial { Outcome(check: try (0..<batches).reduce(0) { sum, _ in sum + (try batch()) }) } }
    }

    private static func record(_ index: Int) -> Record {
        let (title, _, timestamp) = CloudRows.fields(index)
        let content = String(decoding: (0..<200).map { UInt8(ascii: "a") + UInt8((index + $0) % 26) }, as: UTF8.self)
        var record = Record(
            recordName: CloudRows.name(index), recordType: "CD_Post", recordChangeTag: String(index + 1000, radix: 36),
            zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone", ownerRecordName: "_2f0c1a7db8e94d53a61b8c7e0f4d9a35"),
            fields: [
                "CD_title": Field(.string(title)), "CD_content": Field(.string(content)), "CD_entityName": Field(.string("Post")),
                "CD_timestamp": Field(.timestamp(Int64(timestamp))), "CD_count": Field(.int64(Int64(index))),
            ])
        let stamp = RecordStamp(
            timestamp: Int64(timestamp), userRecordName: "_2f0c1a7db8e94d53a61b8c7e0f4d9a35",
            deviceID: "6A1D0C5E-31F2-4B08-93D7-AB20C84E5F16")
        record.created = stamp
        record.modified = stamp
        return record
    }
}

/// The same answer for `Codable`, as one would write it by hand.
private struct PlainBatch: Codable {
    var records: [PlainRecord]
}

private struct PlainRecord: Codable {
    struct Zone: Codable {
        var zoneName: String
        var ownerRecordName: String?
    }
    struct Stamp: Codable {
        var timestamp: Int64
        var userRecordName: String
        var deviceID: String?
    }
    struct Field: Codable {
        var value: Value
        var type: String?
    }
    enum Value: Codable {
        case text(String)
        case number(Int64)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .number(try container.decode(Int64.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            }
        }
    }

    var recordName: String
    var recordType: String
    var recordChangeTag: String?
    var zoneID: Zone?
    var fields: [String: Field]
    var created: Stamp?
    var modified: Stamp?
}
