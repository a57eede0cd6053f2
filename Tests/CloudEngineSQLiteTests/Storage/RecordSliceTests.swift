// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Testing

/// Slices of records in any storage.
@Suite struct RecordSliceTests {
    private static let mia = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")

    /// Ten records of a little more than a quarter of a slice, and two short ones.
    private static let names = (10..<22).map { "p\($0)" }

    private func withRecords(_ kind: StorageKind, _ body: (any ServerStorage) async throws -> Void) async throws {
        let test = try kind.make()
        let storage = try test.storage
        try await storage.write(Self.mia) { unit in
            let last = try unit.raiseCounter(by: Self.names.count)
            let records = Self.names.enumerated().map { index, name in
                var record = Record(recordName: name, recordType: "Plant")
                let bytes = index < 10 ? RecordSize.storedBytesAtOnce / 4 : 1
                record.fields["name"] = Field(.string(String(repeating: "x", count: bytes)))
                return StoredRecord(record: record, change: last - Int64(Self.names.count - 1 - index))
            }
            try unit.save(records, in: 1, at: 1000)
            try unit.save(StoredZone(key: 1, name: "Garden", change: last), at: 1000)
        }
        try await body(storage)
        try test.end()
    }

    @Test(arguments: StorageKind.installed)
    func leadingRecordsEndWithTheRecordThatReachesTheLimit(_ kind: StorageKind) async throws {
        try await withRecords(kind) { storage in
            func leading(_ names: [String]) async throws -> (names: [String], count: Int) {
                try await storage.read(Self.mia) { view -> (names: [String], count: Int) in
                    let leading = try view.leadingRecords(named: names[...], in: 1)
                    return (leading.records.keys.sorted(), leading.count)
                }
            }
            let first = try await leading(Self.names)
            #expect(first.names == ["p10", "p11", "p12", "p13"])
            #expect(first.count == 4)
            // Absent records count as names.
            let sparse = try await leading(["none", "p10", "p11", "p12", "nil", "p13", "p14"])
            #expect(sparse.names == ["p10", "p11", "p12", "p13"])
            #expect(sparse.count == 6)
            let short = try await leading(["p20", "none", "p21", "nil"])
            #expect(short.names == ["p20", "p21"])
            #expect(short.count == 4)
            let one = try await leading(["p10"])
            #expect(one.count == 1)
        }
    }

    @Test(arguments: StorageKind.installed)
    func recordsAfterAPlaceEndWithTheRecordThatReachesTheLimit(_ kind: StorageKind) async throws {
        try await withRecords(kind) { storage in
            let slices = try await storage.read(Self.mia) { view -> [[String]] in
                var slices: [[String]] = []
                var place: RecordPlace?
                while true {
                    let slice = try view.records(after: place, limit: 100)
                    guard let last = slice.last else { return slices }
                    slices.append(slice.map(\.record.recordName))
                    place = last.place
                }
            }
            #expect(slices.map(\.count) == [4, 4, 4])
            #expect(slices.flatMap { $0 } == Self.names)
            let few = try await storage.read(Self.mia) { try $0.records(after: nil, limit: 3).map(\.record.recordName) }
            #expect(few == ["p10", "p11", "p12"])
        }
    }
}
