// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// A change of an object or of a join record that the server rejected permanently.
package struct RejectedChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The server has no such record, and does not accept it.
        case insertion
        case update
        case deletion
    }

    package var recordName: String
    package var isLink: Bool
    package var kind: Kind
    /// The version that the device knows; nil for an insertion.
    package var changeTag: String?
    /// The server's sentence.
    package var reason: String

    init(_ recordName: String, isLink: Bool, stage: MirrorStage, changeTag: String?, reason: String) {
        self.recordName = recordName
        self.isLink = isLink
        self.changeTag = changeTag
        self.reason = reason
        kind = changeTag == nil ? .insertion : stage == .needsDelete ? .deletion : .update
    }
}

extension RecordState {
    /// The change that the server rejected; nil if it rejected none. The old record of an object that moved to another zone doesn't
    /// count.
    package var rejectedChange: RejectedChange? {
        guard let failure, !isRelocated, stage == .needsUpload || stage == .needsDelete else { return nil }
        return RejectedChange(recordName, isLink: false, stage: stage, changeTag: changeTag, reason: failure)
    }
}

extension LinkState {
    package var rejectedChange: RejectedChange? {
        guard let failure, stage == .needsUpload || stage == .needsDelete else { return nil }
        return RejectedChange(recordName, isLink: true, stage: stage, changeTag: changeTag, reason: failure)
    }

    /// The deletion of a join record that was not sent yet: it goes with the deletion of an object.
    package var unsentDeletion: RejectedChange? {
        guard failure == nil, stage == .needsDelete, changeTag != nil else { return nil }
        return RejectedChange(recordName, isLink: true, stage: stage, changeTag: changeTag, reason: "")
    }
}

extension EntityMapping {
    /// To-one relationships that the server's record has, to objects that come back, and that the row has no more.
    package func clearedReferences(of row: Row, _ state: RecordState, to restored: Set<String>) -> [ParkedRelationship] {
        properties.compactMap { property in
            guard property.isToOne, row.values[property.slot].isNull,
                case .inline(.string(let target)) = property.content(in: state.ancestor.fields), restored.contains(target)
            else { return nil }
            return ParkedRelationship(source: state.recordName, relationship: property.name, destination: target)
        }
    }
}

/// Replaces changes that the server rejected by its own state.
///
///     rejected      the server has the record        it has none
///     insertion     –                                the object goes; its values go to the conflict log
///     update        the object takes its values;     the object goes; its edits go to the conflict log
///                   the edits go to the conflict log
///     deletion      the object comes back            nothing: it is deleted
///
/// Join records are reverted with the objects that they link.
package struct Reversion: Hashable, Sendable {
    package private(set) var changes: [RejectedChange]

    package init(of changes: [RejectedChange]) { self.changes = changes }

    package var isEmpty: Bool { changes.isEmpty }

    /// Records that the server is asked for.
    package var namesToFetch: [String] { changes.filter { $0.kind != .insertion }.map(\.recordName) }

    /// The page to import.
    ///
    /// - Parameters:
    ///   - found: The records that the server has.
    ///   - missing: Names of missing records. Changes of other names remain.
    ///   - token: Up to where the zone was imported, which does not change.
    ///   - generation: The number of the full fetch in progress; nil without one.
    package func page(found: [Record], missing: Set<String>, token: String, generation: Int64?) -> ImportPage {
        let insertions = changes.filter { $0.kind == .insertion }.map(\.recordName)
        // A full fetch in progress goes on after the page.
        var page = ImportPage(
            records: found, deletions: insertions + missing.sorted(), askedWith: token, token: token, moreComing: generation != nil,
            generation: generation)
        let settled = Set(found.map(\.recordName)).union(page.deletions)
        for change in changes where settled.contains(change.recordName) { page.reverted[change.recordName] = .some(change.changeTag) }
        return page
    }
}
