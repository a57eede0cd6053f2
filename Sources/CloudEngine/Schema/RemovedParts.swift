// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The record types and fields that changes of a schema remove, or give another type: their records and values are deleted.
///
/// Shares outlive their type: a schema lists the fields of shares and does not make them.
package struct RemovedParts: Hashable, Sendable {
    private var types: Set<String> = []
    /// By record type.
    private var fields: [String: Set<String>] = [:]

    package init(_ changes: [SchemaChange]) {
        for change in changes {
            switch change {
            case .removedType(let type): types.insert(type)
            case .removedField(let type, let field, _): fields[type, default: []].insert(field)
            case .changedField(let type, let field, _, _): fields[type, default: []].insert(field)
            case .addedRole, .removedRole, .addedType, .addedField, .addedIndexes, .removedIndexes, .changedGrants: break
            }
        }
    }

    package var isEmpty: Bool { types.isEmpty && fields.isEmpty }

    package var hasTypes: Bool { !types.isEmpty }

    /// The fields, then the types: references in values of removed fields neither cascade to a record nor keep one, also if a slice with the
    /// target comes before that with the value.
    package var passes: [RemovedParts] {
        var (values, records) = (self, self)
        (values.types, records.fields) = ([], [:])
        return [values, records].filter { !$0.isEmpty }
    }

    func includes(_ record: Record) -> Bool { record.recordType != ShareDetails.recordType && types.contains(record.recordType) }

    /// A record without the values of removed fields.
    func remaining(of record: Record) -> Record {
        guard record.recordType != ShareDetails.recordType, let removed = fields[record.recordType] else { return record }
        var record = record
        record.fields = record.fields.filter { !removed.contains($0.key) }
        return record
    }

    /// The removal of a record or its values; nil for a record that stays as it is.
    func operation(on record: Record) -> RecordOperation? {
        guard record.recordType != ShareDetails.recordType else { return nil }
        var cleared = Record(recordName: record.recordName, recordType: record.recordType)
        if includes(record) { return RecordOperation(.forceDelete, cleared) }
        for field in fields[record.recordType] ?? [] where record.fields[field] != nil { cleared.fields[field] = Field(nil) }
        return cleared.fields.isEmpty ? nil : RecordOperation(.forceUpdate, cleared)
    }

    /// The type of removed records that a record is deleted with; nil if the record stays.
    ///
    /// Reads the records that it refers to by `DELETE_SELF`, those that they refer to, and so on, a slice at a time.
    func removedType(deleting record: Record, in zone: StoredZone, _ view: any PartitionReader, _ limits: Limits) throws -> String? {
        if includes(record) { return record.recordType }
        var open = owners(of: record)
        var visited = Set(open)
        while !open.isEmpty {
            let leading = try view.leadingRecords(named: open[...], in: zone.key)
            let names = Array(open.prefix(leading.count))
            open.removeFirst(leading.count)
            for name in names {
                guard let owner = leading.records[name]?.record, !owner.isDeleted else { continue }
                if includes(owner) { return owner.recordType }
                for next in owners(of: owner) where visited.insert(next).inserted { open.append(next) }
            }
            guard visited.count <= limits.referencesPerRequest else {
                throw SchemaRefused(reasons: [
                    "record '\(record.recordName)' of type '\(record.recordType)' refers by DELETE_SELF to more than "
                        + "\(limits.referencesPerRequest) records, one after the other: delete it first"
                ])
            }
        }
        return nil
    }

    /// Whether a record refers to another removed one by `DELETE_SELF`.
    func hasRemovedOwner(_ record: Record, in zone: StoredZone, _ view: any PartitionReader) throws -> Bool {
        var names = Array(owners(of: record).filter { $0 != record.recordName })[...]
        while !names.isEmpty {
            let leading = try view.leadingRecords(named: names, in: zone.key)
            if leading.records.values.contains(where: { !$0.record.isDeleted && includes($0.record) }) { return true }
            names = names.dropFirst(leading.count)
        }
        return false
    }

    /// Names that are read together.
    private static let namesAtOnce = 400

    /// Whether more than a number of records, that of the name included, are deleted with it by references in fields that stay.
    ///
    /// - Parameter limits: `referencesPerRequest` limits the references that are read. Any number of them may be in removed fields.
    /// - Throws: `SchemaRefused` for more references.
    func isCascade(
        of name: String, largerThan most: Int, in zone: StoredZone, _ view: any PartitionReader, _ limits: Limits
    ) throws -> Bool {
        var open = [name]
        var visited: Set<String> = [name]
        var readCount = 0
        while let target = open.popLast() {
            var last = ""
            while true {
                let sources = try view.sources(
                    ofReferencesTo: target, .deleteSelf, in: zone.key, after: last, limit: Self.namesAtOnce)
                guard let end = sources.last else { break }
                last = end
                readCount += sources.count
                guard readCount <= limits.referencesPerRequest else {
                    throw SchemaRefused(reasons: [
                        "more than \(limits.referencesPerRequest) DELETE_SELF references lead to record '\(name)', those of removed fields "
                            + "included: remove the fields first, by an import of their own"
                    ])
                }
                var names = sources.filter { !visited.contains($0) }[...]
                while !names.isEmpty {
                    let leading = try view.leadingRecords(named: names, in: zone.key)
                    for source in names.prefix(leading.count) {
                        guard let record = leading.records[source]?.record, owners(of: record).contains(target) else { continue }
                        visited.insert(source)
                        open.append(source)
                    }
                    guard visited.count <= most else { return true }
                    names = names.dropFirst(leading.count)
                }
            }
        }
        return false
    }

    /// Names of the records that a record is deleted with.
    private func owners(of record: Record) -> [String] {
        remaining(of: record).links.filter { $0.action == .deleteSelf }.map(\.target).sorted()
    }
}
