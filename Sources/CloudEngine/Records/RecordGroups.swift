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
}

extension Limits {
    /// Bytes of memory of the stored records of one request, and of the records in a change page or in the response to a group: half of that
    /// of all requests, and at least that of one message.
    var storedMemoryMax: Int { max(requestMemoryBytes / 2, Self.messageBytes) }

    /// Bytes of memory of the records that a request deletes by cascade. A cascade can't be divided, so it may take more than the records
    /// that the request names.
    var cascadedMemoryMax: Int { max(requestMemoryBytes, Self.messageBytes) }
}

extension Engine {
    static let tooLargeTogether = WireError(
        .quotaExceeded, "the records of one request are too large together: change fewer records in one request",
        nativeCode: .limitExceeded)

    /// Reads the records that a request changes or deletes.
    ///
    /// - Parameter isLimited: Whether their memory has a limit.
    /// - Throws: ``tooLargeTogether`` if they take more memory than `Limits.storedMemoryMax`.
    func storedRecords(
        named names: [String], in zone: StoredZone, _ view: any PartitionReader, isLimited: Bool = true
    ) throws -> [String: StoredRecord] {
        var stored: [String: StoredRecord] = [:]
        var memory = 0
        var rest = names[...]
        while !rest.isEmpty {
            let leading = try view.leadingRecords(named: rest, in: zone.key)
            memory += leading.records.values.reduce(0) { $0 + RecordSize.memory(of: $1.record) }
            guard !isLimited || memory <= limits.storedMemoryMax else { throw Self.tooLargeTogether }
            stored.merge(leading.records) { first, _ in first }
            rest = rest.dropFirst(leading.count)
        }
        return stored
    }
}
