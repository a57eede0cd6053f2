// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The changes of records by one request, for the biographies of the records: names of fields, and never a value.
///
/// A change has the number of the change of the same record before it. So the biography of a record is a chain that begins at the
/// number of the stored record, and the log needs no index by record:
///
///     records      log
///     sage ──▶ 41: saved "count" ──▶ 17: saved "name" ──▶ 9: created
package struct ChangeLogEntry: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case created, saved, deleted
        /// Deleted because a record was deleted that it belongs to.
        case cascaded
    }

    package struct Change: Hashable, Sendable {
        package var number: Int64
        /// The number of the record's change before this one; nil for the first.
        package var previous: Int64?
        package var kind: Kind
        /// Names of the fields with another value than before, sorted; all of them where the record was created.
        package var fields: [String]
        /// Further fields that the entry had no room for.
        package var fieldsOmitted = 0

        package init(number: Int64, previous: Int64?, kind: Kind, fields: [String] = [], fieldsOmitted: Int = 0) {
            self.number = number
            self.previous = previous
            self.kind = kind
            self.fields = fields
            self.fieldsOmitted = fieldsOmitted
        }

        /// The change from one version of a record to another.
        package init(number: Int64, previous: Int64?, from old: Record?, to new: Record) {
            let names: [String] =
                if let old {
                    Set(old.fields.keys).union(new.fields.keys).filter { old.fields[$0] != new.fields[$0] }
                } else {
                    Array(new.fields.keys)
                }
            self.init(number: number, previous: previous, kind: old == nil ? .created : .saved, fields: names.sorted())
        }
    }

    /// Bytes of field names in one entry at most, which bounds it by the number of its changes.
    package static let nameBytesMax = 4096

    /// Bytes of the log of one database. It does not count for quotas, so it is bounded as stored responses are.
    package static let logBytesMax: Int64 = 16_000_000

    /// Milliseconds since 1970 UTC.
    package var time: Int64
    /// The user record name of the sender, as ``author(_:in:)`` shortens it.
    package var author: String
    package var deviceID: String
    /// As in the response's header and the server's log; empty for a change without a request.
    package var requestUUID: String
    /// In order of their numbers.
    package private(set) var changes: [Change]

    package init(time: Int64, author: String, deviceID: String, requestUUID: String, changes: [Change]) {
        self.time = time
        self.author = author
        self.deviceID = deviceID
        self.requestUUID = requestUUID
        self.changes = changes
        boundNames()
    }

    /// Returns the stored form of a user record name: empty for the owner of a private database, who makes nearly all of its changes. A
    /// storage indexes the other names alone, which it searches when an account is removed; the owner's database is removed as a whole.
    static func author(_ userRecordName: String, in partition: Partition) -> String {
        partition.scope == .private && userRecordName == partition.owner ? "" : userRecordName
    }

    /// The user record name of the sender.
    func userRecordName(in partition: Partition) -> String {
        author.isEmpty && partition.scope == .private ? partition.owner : author
    }

    /// Removes names that no earlier change of the entry has once the limit of their bytes is reached.
    private mutating func boundNames() {
        let bytesOfAll = changes.reduce(0) { $1.fields.reduce($0) { $0 + $1.utf8.count } }
        guard bytesOfAll > Self.nameBytesMax else { return }
        var known: Set<String> = []
        var bytes = 0
        for index in changes.indices {
            let fields = changes[index].fields.filter { name in
                if known.contains(name) { return true }
                guard bytes + name.utf8.count <= Self.nameBytesMax else { return false }
                bytes += name.utf8.count
                known.insert(name)
                return true
            }
            changes[index].fieldsOmitted += changes[index].fields.count - fields.count
            changes[index].fields = fields
        }
    }
}

/// The changes of an entry as a storage keeps them: field names once, and their positions with each change.
package struct StoredChanges: WireMessage {
    package var changes: [ChangeLogEntry.Change]

    package init(_ changes: [ChangeLogEntry.Change]) { self.changes = changes }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        var names: [String] = []
        changes = []
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "fields": names = try reader.readStrings()
            case "changes":
                try reader.beginArray()
                while try reader.nextElement() { changes.append(try Self.change(from: &reader, names)) }
            default: try reader.skipValue()
            }
        }
        guard !changes.isEmpty else { throw JSONFault("an entry of the change log has no changes", at: start) }
    }

    private static func change(from reader: inout JSONReader, _ names: [String]) throws(JSONFault) -> ChangeLogEntry.Change {
        var change = ChangeLogEntry.Change(number: 0, previous: nil, kind: .saved)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "number": change.number = try reader.readInt64()
            case "previous": change.previous = try reader.readInt64()
            case "kind": change.kind = try reader.readChoice(orFault: "unknown kind of change")
            case "fields":
                try reader.beginArray()
                while try reader.nextElement() {
                    let index = try reader.readInt()
                    guard names.indices.contains(index) else { throw JSONFault("unknown field of a change", at: start) }
                    change.fields.append(names[index])
                }
            case "omitted": change.fieldsOmitted = try reader.readInt()
            default: try reader.skipValue()
            }
        }
        return change
    }

    package func write(to writer: inout JSONWriter) {
        let (names, places) = fieldPlaces
        writer.object { writer in
            // Names come first: a reader needs them for the changes.
            writer.key("fields")
            writer.array(names) { $0.value($1) }
            writer.key("changes")
            writer.array(zip(changes, places)) { writer, item in
                let (change, places) = item
                writer.object { writer in
                    writer.member("number", change.number)
                    writer.member("previous", change.previous)
                    writer.member("kind", change.kind.rawValue)
                    if !change.fields.isEmpty {
                        writer.key("fields")
                        writer.array(places) { $0.value(Int64($1)) }
                    }
                    if change.fieldsOmitted > 0 { writer.member("omitted", change.fieldsOmitted) }
                }
            }
        }
    }

    /// The names of all fields, and for each change the positions of its own. Nearly always all changes have the same fields.
    private var fieldPlaces: (names: [String], places: [[Int]]) {
        var names = changes.first?.fields ?? []
        var known: [String: Int] = [:]
        var last = (fields: names, places: Array(names.indices))
        let places = changes.map { change in
            guard change.fields != last.fields else { return last.places }
            if known.isEmpty { known = Dictionary(uniqueKeysWithValues: zip(names, names.indices)) }
            last.fields = change.fields
            last.places = change.fields.map { name in
                if let place = known[name] { return place }
                known[name] = names.count
                names.append(name)
                return names.count - 1
            }
            return last.places
        }
        return (names, places)
    }
}
