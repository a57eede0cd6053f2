// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// A record of an import file, saved over the stored record of its name.
///
/// A file lacks parts of a record, which the stored record keeps:
///
/// | file | lacks |
/// |---|---|
/// | JSON | files of assets |
/// | CSV | also the parent, fields without a column, zones and actions of references, and all of a location but its coordinates |
package struct ImportedRecord: Sendable {
    package var record: Record
    /// Fields with a column in the file. Nil for a file of whole records: a field that it lacks is removed.
    package var columns: Set<String>?

    package init(_ record: Record, columns: Set<String>? = nil) {
        self.record = record
        self.columns = columns
    }

    /// Whether an export has an address instead of the field's value.
    package static func isAsset(_ field: Field) -> Bool {
        switch field.value {
        case .asset?, .list(_, of: .asset)?: true
        default: false
        }
    }

    /// The operations that save records of a file, in their order.
    ///
    /// - Parameters:
    ///   - limits: Those of the server, if they are known.
    ///   - lookUp: Requests the stored records of names.
    package static func operations(
        saving imported: [ImportedRecord], _ limits: Limits = Limits(), _ lookUp: ([String]) async throws -> [RecordResult]
    ) async throws -> [RecordOperation] {
        var operations = imported.map { $0.operation(over: nil) }
        let indexes = Dictionary(grouping: imported.indices) { imported[$0].record.recordName }
        var parts = LookUpParts(imported.map(\.record.recordName).filter { !$0.isEmpty }, limits)
        while let names = parts.next() {
            do {
                for case .record(let stored) in parts.take(try await lookUp(names)) {
                    for index in indexes[stored.recordName] ?? [] { operations[index] = imported[index].operation(over: stored) }
                }
            } catch let error as WireError where error.nativeCode == .limitExceeded {
                guard parts.halve() else { throw error }
            }
        }
        return operations
    }

    package func operation(over stored: Record?) -> RecordOperation {
        guard let stored else { return RecordOperation(.forceReplace, record) }
        var record = record
        if columns != nil {
            for (name, field) in self.record.fields {
                guard let value = field.value, let old = stored.fields[name]?.value else { continue }
                record.fields[name]?.value = Self.complete(value, with: old)
            }
        } else if record.sharing.parent == nil, stored.sharing.parent != nil {
            // An empty name removes the parent.
            record.sharing.parent = ""
        }
        for (name, field) in stored.fields where record.fields[name] == nil {
            guard !Self.isAsset(field), columns?.contains(name) != false else { continue }
            record.fields[name] = Field(nil)
        }
        return RecordOperation(.forceUpdate, record)
    }

    /// A value of CSV with the parts of the stored one that CSV lacks.
    private static func complete(_ value: FieldValue, with stored: FieldValue) -> FieldValue {
        switch (value, stored) {
        case (.reference(var reference), .reference(let old)):
            (reference.zoneID, reference.action) = (old.zoneID, old.action)
            return .reference(reference)
        case (.location(let location), .location(var kept)):
            (kept.latitude, kept.longitude) = (location.latitude, location.longitude)
            return .location(kept)
        case (.list(let elements, of: let type), .list(let old, of: _)):
            return .list(elements.map { element in old.first { isSame(element, $0) } ?? element }, of: type)
        default: return value
        }
    }

    /// Whether CSV has the same text for two elements of a list.
    private static func isSame(_ element: FieldValue, _ stored: FieldValue) -> Bool {
        switch (element, stored) {
        case (.reference(let one), .reference(let other)): one.recordName == other.recordName
        case (.location(let one), .location(let other)): one.latitude == other.latitude && one.longitude == other.longitude
        default: element == stored
        }
    }
}
