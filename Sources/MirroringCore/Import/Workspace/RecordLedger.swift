// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The sync metadata of the page's objects while the page is planned: as loaded, with the changes so far.
struct RecordLedger {
    private var states: [String: RecordState]
    /// Record names of rows that were loaded.
    private var names: [RowKey: String]
    private var touched: [String] = []
    /// Names of records with deleted metadata.
    private(set) var removed = RecordNames()
    /// Names that rows' records had before they were re-keyed, with their present names.
    private(set) var renamed: [String: String] = [:]
    /// Record names of the rows that the page inserts.
    private(set) var inserted = InsertedRecords()
    /// Names of records that rows got from objects which were deleted or merged here: the device has metadata of these names.
    private var replaced: Set<String> = []

    init(_ loaded: [String: RecordState]) {
        states = loaded
        names = Dictionary(loaded.values.map { ($0.key, $0.recordName) }, uniquingKeysWith: { first, _ in first })
    }

    subscript(name: String) -> RecordState? { states[name] }

    /// Returns the name of a row's record; nil for a row without a record.
    func name(of key: RowKey) -> String? {
        if let name = names[key] { return name }
        guard let name = inserted.name(of: key), inserted.contains(name), states[name]?.key == key else { return nil }
        return name
    }

    /// Returns the name that a row's record had when it was loaded, or since it was re-keyed.
    func loadedName(of key: RowKey) -> String? { names[key] }

    mutating func put(_ state: RecordState) {
        states[state.recordName] = state
        touched.append(state.recordName)
    }

    /// Adds the record of a row that the page inserts.
    mutating func insert(_ state: RecordState) {
        if states[state.recordName] != nil { replaced.insert(state.recordName) }
        put(state)
        inserted.append(state.recordName, state.key)
    }

    /// Deletes the metadata of a record.
    mutating func remove(_ name: String) {
        states[name] = nil
        removed.append(name)
    }

    /// Drops the record of a row that the page would have inserted. Metadata that it replaced are deleted: a pending deletion of the
    /// withheld record, of an older version, would be rejected forever.
    mutating func dropInserted(_ name: String) {
        states[name] = nil
        inserted.remove(name)
        if replaced.contains(name) { removed.append(name) }
    }

    /// Gives a row another record.
    mutating func rekey(_ key: RowKey, from old: String, to name: String) {
        replaced.insert(name)
        names[key] = name
        renamed[old] = name
        inserted.rename(old, to: name)
    }

    /// The changed metadata, in the order of the first change of each record.
    var changed: [RecordState] {
        if touched.count < 2 { return touched.compactMap { states[$0] } }
        var seen = DistinctValues<String>()
        return touched.compactMap { seen.insert($0) ? states[$0] : nil }
    }
}
