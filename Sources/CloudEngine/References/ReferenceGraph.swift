// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The records of a zone and the references between them as they are stored. Each is read once, however often it is asked for.
struct ReferenceGraph {
    private struct Edge: Hashable {
        var target: String
        var action: RecordReference.Action
    }

    let zone: StoredZone
    private let view: any PartitionReader
    /// Nil for records that do not exist.
    private var records: [String: StoredRecord?] = [:]
    private var sources: [Edge: (limit: Int, names: [String])] = [:]

    init(_ stored: [String: StoredRecord], asked names: [String], zone: StoredZone, _ view: any PartitionReader) {
        self.zone = zone
        self.view = view
        for name in names { records[name] = .some(nil) }
        for (name, record) in stored { records[name] = record.record.isDeleted ? .some(nil) : record }
    }

    mutating func record(_ name: String) throws -> StoredRecord? {
        if let record = records[name] { return record }
        let record = try view.records(named: [name], in: zone.key)[name].flatMap { $0.record.isDeleted ? nil : $0 }
        records[name] = .some(record)
        return record
    }

    /// Records with references of an action to one record.
    mutating func sources(of target: String, _ action: RecordReference.Action, atMost limit: Int) throws -> [String] {
        let edge = Edge(target: target, action: action)
        if let read = sources[edge], read.limit >= limit || read.names.count < read.limit { return Array(read.names.prefix(limit)) }
        let names = try view.sources(ofReferencesTo: target, action, in: zone.key, after: "", limit: limit)
        sources[edge] = (limit, names)
        return names
    }
}
