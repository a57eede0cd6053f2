// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// The merge base of a record: the server's fields that were applied last. A merge compares the fields of both sides with it.
package struct Ancestor: Hashable, Sendable {
    /// Fields that the model had when they were applied, without empty ones.
    package var fields: [String: Field]
    /// Fields of newer or other clients. They are stored separately: a later version of the app that has them in its model must not take
    /// their absence in its rows for a change of this device.
    package var unapplied: [String: Field]
    /// Digests of the contents of assets among ``fields``, by field name.
    package var digests: [String: ContentDigest]

    package init(
        fields: [String: Field] = [:], unapplied: [String: Field] = [:], digests: [String: ContentDigest] = [:]
    ) {
        self.fields = fields
        self.unapplied = unapplied
        self.digests = digests
    }
}

/// The sync stage of a record.
///
/// Raw values are stored in files and never reused.
package enum MirrorStage: Int, Hashable, Sendable, CaseIterable {
    case uploaded = 0
    case needsUpload = 1
    case needsDelete = 2
    /// The server has no such record any more. The end of the next import deletes the row.
    case missing = 3
}

/// The sync metadata of one record: its name, version, merge base and stage.
package struct RecordState: Hashable, Sendable {
    package var recordName: String
    package var key: RowKey
    /// nil until the server accepted or delivered the record.
    package var changeTag: String?
    package var stage: MirrorStage
    /// The number of the history transaction that last changed the object, or a greater one (``ChangeMark``). A response to an item with
    /// another mark does not make the record ``MirrorStage/uploaded``.
    package var mark: Int64
    /// The number of the last full fetch that returned the record.
    package var generation: Int64
    package var role = RecordRole.current
    /// Whether the record is not stored yet, as far as its creator knows: a hint for writing it.
    package var isNew = true
    private var details = SharedValue(Details())

    /// Properties that most steps only hand on. Import and export copy a state about ten times.
    private struct Details: Hashable, Sendable {
        var ancestor = Ancestor()
        var modified: RecordStamp?
        /// ``ancestor`` and ``modified`` in their stored form, if they were encoded before.
        var written: KeptAncestor?
        var failure: String?
        var system = RecordSystemFields()
        var ranks: [String: String] = [:]
        var merged = MergedNames()
        var fieldStates = FieldStates()
    }

    package init(recordName: String, key: RowKey, stage: MirrorStage, mark: Int64 = 0) {
        self.recordName = recordName
        self.key = key
        self.stage = stage
        self.mark = mark
        generation = 0
    }

    package var ancestor: Ancestor {
        _read { yield details.value.ancestor }
        _modify {
            details.value.written = nil
            yield &details.value.ancestor
        }
    }

    package var modified: RecordStamp? {
        _read { yield details.value.modified }
        _modify {
            details.value.written = nil
            yield &details.value.modified
        }
    }

    /// The reason of a permanent rejection. The record is sent again after a change on either side.
    package var failure: String? {
        _read { yield details.value.failure }
        _modify { yield &details.value.failure }
        set {
            // Most states have none, and get none.
            if newValue != nil || details.value.failure != nil { details.value.failure = newValue }
        }
    }

    /// System fields of the record.
    package var system: RecordSystemFields {
        _read { yield details.value.system }
        _modify { yield &details.value.system }
    }

    /// The position keys of the object in ordered relationships, by to-one relationship.
    package var ranks: [String: String] {
        _read { yield details.value.ranks }
        _modify { yield &details.value.ranks }
    }

    /// Names of records that this one supersedes.
    package var merged: MergedNames {
        _read { yield details.value.merged }
        _modify { yield &details.value.merged }
    }

    /// Versions of encrypted values, and the quarantined values, encrypted or not.
    package var fieldStates: FieldStates {
        _read { yield details.value.fieldStates }
        _modify { yield &details.value.fieldStates }
    }

    /// The merge base with its modification date, in stored form; nil if both are empty.
    package var keptAncestor: KeptAncestor? { details.value.written ?? KeptAncestor(ancestor, modified) }

    /// - Parameter kept: The stored form of ``ancestor`` and ``modified``.
    mutating func keep(_ kept: KeptAncestor?) { details.value.written = kept }
}

/// The sync metadata of one join record. It may arrive before its objects.
package struct LinkState: Hashable, Sendable {
    package var recordName: String
    package var pair: LinkPair
    package var changeTag: String?
    package var stage: MirrorStage
    package var mark: Int64
    package var failure: String?
    package var generation: Int64
    package var ranks = LinkRanks()

    package init(recordName: String, pair: LinkPair, stage: MirrorStage, mark: Int64 = 0) {
        self.recordName = recordName
        self.pair = pair
        self.stage = stage
        self.mark = mark
        generation = 0
    }

    /// Whether the pair of the record is linked, or will be once its objects arrive.
    package var isLive: Bool { stage == .uploaded || stage == .needsUpload }
}

/// A deferred reference: the target of a to-one relationship has not arrived, or was deleted. The row is empty, the server has a name.
package struct ParkedRelationship: Hashable, Sendable {
    package struct Key: Hashable, Sendable {
        package var source: String
        package var relationship: String

        package init(source: String, relationship: String) {
            self.source = source
            self.relationship = relationship
        }
    }

    package var key: Key
    /// Record name of the target.
    package var destination: String

    package init(source: String, relationship: String, destination: String) {
        key = Key(source: source, relationship: relationship)
        self.destination = destination
    }
}

/// An entry of the conflict log: a value that lost a merge.
package struct ConflictEntry: Hashable, Sendable {
    /// Raw values are stored in files and never reused.
    package enum Winner: Int, Hashable, Sendable {
        /// The value of this device, which reaches the server later.
        case local = 0
        /// Another device deleted the object.
        case remoteDeletion = 1
        /// This device deleted the object.
        case localDeletion = 2
        /// Another device's value, by the attribute's merge policy.
        case remote = 3
    }

    package var entity: String
    package var recordName: String
    package var property: String
    /// nil when the losing side had cleared the property.
    package var losing: FieldValue?
    package var winner: Winner
    /// nil for a change that was not sent: it has no time by the server's clock.
    package var losingStamp: RecordStamp?
    package var winningStamp: RecordStamp?

    package init(
        entity: String, recordName: String, property: String, losing: FieldValue?, winner: Winner, losingStamp: RecordStamp?,
        winningStamp: RecordStamp?
    ) {
        self.entity = entity
        self.recordName = recordName
        self.property = property
        self.losing = losing
        self.winner = winner
        self.losingStamp = losingStamp
        self.winningStamp = winningStamp
    }
}

extension ParkedRelationship {
    /// Returns the conflict of a reference that was set to another target while its own was missing.
    ///
    /// - Parameter stamp: The stamp of the reference on the server.
    package func lost(of entity: String, to winner: ConflictEntry.Winner, at stamp: RecordStamp? = nil) -> ConflictEntry {
        ConflictEntry(
            entity: entity, recordName: key.source, property: key.relationship, losing: .string(destination), winner: winner,
            losingStamp: stamp,
            winningStamp: nil)
    }
}

/// Changes of the sync metadata by a decision. They are written in one transaction with its rows.
package struct BookkeepingChanges: Hashable, Sendable {
    /// Inserted, or replaced by record name.
    package var records: [RecordState] = []
    package var removedRecords: [String] = []
    package var links: [LinkState] = []
    package var removedLinks: [String] = []
    package var parked: [ParkedRelationship] = []
    package var unparked: [ParkedRelationship.Key] = []
    package var conflicts: [ConflictEntry] = []
    /// Names of records that are not withheld any more, unless they are among ``incomplete``.
    package var arrived: [String] = []
    package var incomplete: [IncompleteRecord] = []

    package init() {}

    package var isEmpty: Bool {
        records.isEmpty && removedRecords.isEmpty && links.isEmpty && removedLinks.isEmpty && parked.isEmpty
            && unparked.isEmpty && conflicts.isEmpty && arrived.isEmpty && incomplete.isEmpty
    }
}
