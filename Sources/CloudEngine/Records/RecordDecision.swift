// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// What one operation does to one record, before anything is written.
enum RecordDecision {
    /// Store these fields; `Record.created` is that of the record there is, if there is one.
    case save(Record)
    case delete(Record)
    /// A forced deletion of a missing record.
    case nothing(Record)

    /// Compares an operation with the record there is.
    ///
    /// | operation | the record exists | it does not exist |
    /// |---|---|---|
    /// | create | refused | saved |
    /// | update, replace | saved if the tag is equal | refused |
    /// | forceUpdate, forceReplace | saved | saved |
    /// | delete | deleted if the tag is absent or equal | refused |
    /// | forceDelete | deleted | nothing to do |
    ///
    /// - Parameters:
    ///   - incoming: The record of the operation, its assets resolved.
    ///   - current: The stored record; nil if it does not exist or is deleted.
    ///
    /// Source: *CloudKit Web Services Reference*, "Record Operation Dictionary"; texts from public reports.
    static func make(
        _ kind: RecordOperation.Kind, _ incoming: Record, over current: Record?
    ) throws(WireError) -> RecordDecision {
        switch (kind, current) {
        case (.create, .some):
            throw WireError(.conflict, "record to insert already exists")
        case (.create, nil), (.forceUpdate, nil), (.forceReplace, nil):
            return .save(try created(incoming))
        case (.update, nil), (.replace, nil), (.delete, nil):
            throw WireError(.notFound, "record not found")
        case (.forceDelete, nil):
            return .nothing(incoming)
        case (.update, .some(let current)), (.replace, .some(let current)):
            guard let tag = incoming.recordChangeTag else {
                throw WireError(.badRequest, "'\(kind.rawValue)' needs a recordChangeTag")
            }
            guard tag == current.recordChangeTag else { throw staleTag }
            return .save(try changed(current, by: incoming, clearingOthers: kind == .replace))
        case (.forceUpdate, .some(let current)), (.forceReplace, .some(let current)):
            return .save(try changed(current, by: incoming, clearingOthers: kind == .forceReplace))
        case (.delete, .some(let current)):
            guard incoming.recordChangeTag == nil || incoming.recordChangeTag == current.recordChangeTag else { throw staleTag }
            return .delete(current)
        case (.forceDelete, .some(let current)):
            return .delete(current)
        }
    }

    private static let staleTag = WireError(.conflict, "client oplock error updating record")

    private static func created(_ incoming: Record) throws(WireError) -> Record {
        if let error = NameChecks.recordType(incoming.recordType) ?? NameChecks.newRecord(incoming) { throw error }
        guard incoming.fields.values.contains(where: { $0.value == nil }) else { return incoming }
        var record = incoming
        record.fields = incoming.fields.filter { $0.value.value != nil }
        return record
    }

    private static func changed(
        _ current: Record, by incoming: Record, clearingOthers: Bool
    ) throws(WireError) -> Record {
        guard incoming.recordType.isEmpty || incoming.recordType == current.recordType else {
            throw WireError(.badRequest, "the type of a record cannot change")
        }
        var record = current
        if clearingOthers { record.fields = [:] }
        for (name, field) in incoming.fields {
            record.fields[name] = field.value == nil ? nil : field
        }
        return record
    }
}
