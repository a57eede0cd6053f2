// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Stored records by name, read a group at a time: a lookup ends once its response is large enough, and the memory of all records that it
/// names may be a hundred times that.
struct RecordGroups {
    /// Records that are decoded at once. A record takes up to 15 MB of memory, if it is a list of short elements.
    static let count = 25

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
            group = index..<min(names.count, index + Self.count)
            let names = Array(names[group])
            stored = [:]
            stored = try view.records(named: names, in: zone.key)
            try UsersType.complete(&stored, named: names, in: view, call)
        }
        return stored[names[index]]
    }
}

extension Engine {
    static let tooLargeTogether = WireError(
        .quotaExceeded, "the records of one request are too large together: change fewer records in one request",
        nativeCode: .limitExceeded)

    /// Bytes of memory of the stored records of one request, and of the records in the response to a group: half of that of all requests.
    var storedMemoryMax: Int { max(limits.requestMemoryBytes / 2, Limits.messageBytes) }

    /// Reads the records that a request changes or deletes.
    ///
    /// - Throws: ``tooLargeTogether`` if they take more memory than ``storedMemoryMax``.
    func storedRecords(named names: [String], in zone: StoredZone, _ view: any PartitionReader) throws -> [String: StoredRecord] {
        var stored: [String: StoredRecord] = [:]
        var memory = 0
        for start in stride(from: 0, to: names.count, by: RecordGroups.count) {
            let found = try view.records(named: Array(names[start..<min(names.count, start + RecordGroups.count)]), in: zone.key)
            memory += found.values.reduce(0) { $0 + RecordSize.memory(of: $1.record) }
            guard memory <= storedMemoryMax else { throw Self.tooLargeTogether }
            stored.merge(found) { first, _ in first }
        }
        return stored
    }
}
