// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@testable import CloudEngine

@Suite struct RecordSizeTests {
    @Test(arguments: [
        (1_000_000, 64_000_000, 64_000_000), (100_000_000, 64_000_000, 100_000_000), (256_000_000, 128_000_000, 256_000_000),
    ])
    func storedRecordsHaveHalfOfTheMemoryAndACascadeAllOfIt(_ memory: Int, _ stored: Int, _ cascaded: Int) {
        var limits = Limits()
        limits.requestMemoryBytes = memory
        #expect(limits.storedMemoryMax == stored)
        #expect(limits.cascadedMemoryMax == cascaded)
    }

    /// Bytes that count beyond the first 4,096 of a record, and memory besides the bytes.
    @Test func theSizeOfARecordHasAllItsParts() {
        let name = "p", type = "Plant", field = "f"
        let names = name.utf8.count + type.utf8.count + field.utf8.count
        func record(_ value: FieldValue) -> Record { Record(recordName: name, recordType: type, fields: [field: Field(value)]) }
        let zoneID = ZoneID(zoneName: "Garden", ownerRecordName: "_" + String(repeating: "o", count: 9))
        let reference = FieldValue.reference(RecordReference(recordName: "bed", zoneID: zoneID))
        // A reference has 9 bytes of names, and its owner 10 that are not charged alone.
        let short = record(reference)
        #expect(RecordSize.bytes(of: short) == names + 9)
        #expect(RecordSize.memory(of: short) == names + 9 + 24 + 112)
        let references = record(.list(Array(repeating: reference, count: 1000), of: .reference))
        #expect(RecordSize.bytes(of: references) == names + 9000 + 10_000 - 4096)
        #expect(RecordSize.memory(of: references) == names + 9000 + 10_000 - 4096 + 1000 * (24 + 112))
        let texts = record(.list(Array(repeating: .string("xx"), count: 1000), of: .string))
        #expect(RecordSize.bytes(of: texts) == names + 2000 + 6000 - 4096)
        #expect(RecordSize.memory(of: texts) == names + 2000 + 6000 - 4096 + 1000 * 24)
        #expect(RecordSize.bytes(of: record(.int64(1))) == names + 8)
        #expect(RecordSize.bytes(of: record(.list([.int64(1), .int64(2)], of: .int64))) == names + 16)
    }
}
