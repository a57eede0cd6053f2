// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import Foundation
package import ManagedModel

/// Records of a share's zone that stand for objects that this device deleted in the home zone before it knew of their relocation. They are
/// deleted again in the share's zone. Links are treated alike.
package struct RepeatedDeletions: Sendable {
    package private(set) var changes = BookkeepingChanges()
    /// Names of the records, which are taken out of the page.
    package private(set) var names: Set<String> = []
    private let mapping: RecordMapping
    private let mark: Int64
    private let generation: Int64

    /// - Parameters:
    ///   - mark: The number of the last history transaction.
    ///   - generation: The number of the full fetch that the page belongs to; nil for none.
    package init(mapping: RecordMapping, mark: Int64, generation: Int64?) {
        self.mapping = mapping
        self.mark = mark
        self.generation = generation ?? 0
    }

    // MARK: Links

    /// Returns `true` if a link of a page was unlinked by this device.
    package static func isRepeated(wasDeleted: Bool, isKnown: Bool, isInHome: Bool) -> Bool { wasDeleted && !isKnown && !isInHome }

    package mutating func add(_ record: Record, _ pair: LinkPair) {
        var link = LinkState(recordName: record.recordName, pair: pair, stage: .needsDelete, mark: mark)
        link.changeTag = record.recordChangeTag
        link.generation = generation
        changes.links.append(link)
        names.insert(record.recordName)
    }

    // MARK: Records

    /// Returns `true` if the object of a record was deleted by this device.
    ///
    /// This device may have relocated it as well, and then it was deleted in the destination zone. Or its deletion has not been sent: it is
    /// deleted in both zones, since the device that relocated it may delete the source record at any time.
    ///
    /// - Parameters:
    ///   - source: The record in the home zone.
    ///   - isUnique: Whether record names follow from values, so that they may belong to another object by now.
    ///   - wasDeleted: Whether this device has deleted a record of the source's name on the server.
    ///   - isKnown: Whether the zone of the page has the record, shown or withheld.
    package static func isRepeated(source: RecordState?, isUnique: Bool, wasDeleted: Bool, isKnown: Bool) -> Bool {
        if isKnown { return false }
        if let source, source.isDeletedAtDestination { return true }
        if isUnique { return false }
        return wasDeleted || source.map { $0.stage == .needsDelete && !$0.isRelocated } ?? false
    }

    /// - Parameters:
    ///   - key: A key of no row.
    ///   - source: The record in the home zone.
    ///   - assets: Contents of the record's assets.
    package mutating func add(
        _ record: Record, _ entity: EntityMapping, key: RowKey, source: RecordState?, assets: [(AssetValue, Data)]
    ) {
        var state = RecordState(recordName: record.recordName, key: key, stage: .needsDelete, mark: mark)
        state.changeTag = record.recordChangeTag
        state.modified = record.modified
        state.ancestor = entity.ancestor(of: record.fields)
        state.generation = generation
        changes.records.append(state)
        // Edits that another device made at the same time are in the conflict log.
        let base = source.flatMap { $0.isDeletedAtDestination ? nil : $0.ancestor } ?? Ancestor()
        changes.conflicts += entity.losing(record, since: base, assets: assets)
        names.insert(record.recordName)
    }
}

/// The names of records that this device deleted on the server because the user deleted their objects. Another device may relocate such an
/// object at the same time: then ``RepeatedDeletions`` deletes it there.
package enum DeletedNames {
    /// - Parameters:
    ///   - changes: The accepted items of a batch.
    ///   - records: The records of the batch before, by name.
    ///   - isHome: Whether the batch went to the home zone. Its relocated records and links were not deleted by the user. Links of other
    ///     zones are stored as well: a device that learns late that its objects were relocated may take them there once more.
    ///   - hasSharedRecord: Whether the zone of a share has a record of a name that is not being deleted. A source record that a restored
    ///     server has again belongs to that object, although its key has no row.
    ///   - hasSharedLink: Whether the zone of a share has a link of a name.
    package static func decide(
        _ changes: BookkeepingChanges, _ records: [String: RecordState], isHome: Bool, hasSharedRecord: (String) throws -> Bool,
        hasSharedLink: (String) throws -> Bool
    ) rethrows -> [String] {
        guard isHome else { return changes.removedLinks }
        let links = try changes.removedLinks.filter { try !hasSharedLink($0) }
        return try links
            + changes.removedRecords.filter { name in
                guard let record = records[name], record.isRelocated else { return true }
                return try record.isDeletedAtDestination && !hasSharedRecord(name)
            }
    }

    /// Returns the names that an import in the home zone removes from the list: a restored server has these records again, or another device
    /// has created them again. A relocation that arrives afterwards is a later one.
    package static func ended(by plan: ImportPlan) -> [String] {
        plan.insertedNames + plan.bookkeeping.links.filter { $0.stage == .uploaded }.map(\.recordName)
    }
}
