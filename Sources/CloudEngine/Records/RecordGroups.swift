// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Stored records by name, read a group at a time: a lookup ends once its response is large enough, and the memory of all records that it
/// names may be a hundred times that.
struct RecordGroups {
    private let names: [String]
    private let zone: StoredZone
    private let view: any PartitionReader
    private let call: Call
    private var group: Range<Int> = 0..<0
    private var stored: [String: StoredRecord] = [:]

    init(_ names: [String], in zone: StoredZone, _ view: any PartitionReader, _ call: Call) {
        self.names = names
        self.zone = zone
        self.view = view
        self.call = call
    }

    /// The record with the name at an index, users without a stored record included.
    mutating func record(at index: Int) throws -> StoredRecord? {
        if !group.contains(index) {
            stored = [:]
            let leading = try view.leadingRecords(named: names[index...], in: zone.key)
            group = index..<index + leading.count
            stored = leading.records
            try UsersType.complete(&stored, named: Array(names[group]), in: view, call)
        }
        return stored[names[index]]
    }

    static let tooLargeTogether = WireError(
        .quotaExceeded, "the records of one request are too large together: change fewer records in one request",
        nativeCode: .limitExceeded)

    /// Reads all records that a request changes or deletes.
    ///
    /// - Parameter memoryMax: Bytes of memory that they may take.
    /// - Throws: ``tooLargeTogether`` if they take more.
    static func allRecords(
        named names: [String], in zone: StoredZone, _ view: any PartitionReader, memoryMax: Int
    ) throws -> [String: StoredRecord] {
        var stored: [String: StoredRecord] = [:]
        var memory = 0
        var rest = names[...]
        while !rest.isEmpty {
            let leading = try view.leadingRecords(named: rest, in: zone.key)
            memory += leading.records.values.reduce(0) { $0 + RecordSize.memory(of: $1.record) }
            guard memory <= memoryMax else { throw tooLargeTogether }
            stored.merge(leading.records) { first, _ in first }
            rest = rest.dropFirst(leading.count)
        }
        return stored
    }
}
