// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// The server's fields of a record as they were last seen and applied: what both sides' changes are measured against.
package struct Ancestor: Hashable, Sendable {
    /// Fields that the model understood when they were applied, without those that hold nothing.
    package var fields: [String: Field]
    /// Fields of newer or other clients. They are kept apart so that a later version of the app, which knows
    /// them, does not take their absence from its rows for a local change.
    package var unapplied: [String: Field]
    /// What the assets among ``fields`` contain, by field name.
    package var digests: [String: ContentDigest]

    package init(
        fields: [String: Field] = [:], unapplied: [String: Field] = [:], digests: [String: ContentDigest] = [:]
    ) {
        self.fields = fields
        self.unapplied = unapplied
        self.digests = digests
    }
}

/// Where a record stands between this device and the server.
///
/// Raw values are stored in files and never reused.
package enum MirrorStage: Int, Hashable, Sendable, CaseIterable {
    case uploaded = 0
    case needsUpload = 1
    case needsDelete = 2
    /// The server said that it has no such record; the end of the next import deletes the row.
    case missing = 3
}

/// What the mirror knows of one object: its record's name and version, and the server's last known fields.
package struct RecordState: Hashable, Sendable {
    package var recordName: String
    package var key: RowKey
    /// nil until the server accepted or delivered the record.
    package var changeTag: String?
    package var ancestor: Ancestor { didSet { written = nil } }
    package var modified: RecordStamp? { didSet { written = nil } }
    /// ``ancestor`` and ``modified`` as they are kept, if that was written already.
    private var written: KeptAncestor?
    package var stage: MirrorStage
    /// Number of the history transaction that last marked the record. An answer of the server about an older
    /// mark does not clear a newer one.
    package var mark: Int64
    /// Why the server refused the record for good; it is not sent again until either side changes it.
    package var failure: String?
    /// The full fetch in which the record was last seen.
    package var generation: Int64
    /// What the server says of the record beside its fields.
    package var system = RecordSystemFields()
    /// Whether the object is in another zone now, because it was shared: what is left is to delete the record here. What
    /// others still write into it goes to the object.
    package var isMovedOut = false
    /// Whether nothing is kept of the record yet, as far as whoever made this knows: a hint for writing it.
    package var isNew = true
    /// Where the object stands in the lists of others, by to-one relationship.
    package var ranks: [String: String] = [:]
    /// Names of records whose objects were merged into this one.
    package var merged = MergedNames()

    package init(recordName: String, key: RowKey, stage: MirrorStage, mark: Int64 = 0) {
        self.recordName = recordName
        self.key = key
        self.stage = stage
        self.mark = mark
        ancestor = Ancestor()
        generation = 0
    }

    /// What is kept of the server's fields and of when they were saved; nil if there is nothing.
    package var keptAncestor: KeptAncestor? { written ?? KeptAncestor(ancestor, modified) }

    /// - Parameter kept: What was written of ``ancestor`` and ``modified`` as they are now.
    mutating func keep(_ kept: KeptAncestor?) { written = kept }
}

/// What the mirror knows of one link record. It waits here, too, for objects that have not come yet.
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

    /// Whether the record stands for a pair that is, or is to be, linked.
    package var isLive: Bool { stage == .uploaded || stage == .needsUpload }
}

/// A to-one relationship whose target has not come, or is gone: the row holds nothing, the server holds a name.
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

/// A value that lost against another one. Nothing is lost in silence.
package struct ConflictEntry: Hashable, Sendable {
    /// Raw values are stored in files and never reused.
    package enum Winner: Int, Hashable, Sendable {
        /// This device's value, which was not sent yet and so reaches the server later.
        case local = 0
        /// The object was deleted by somebody else.
        case remoteDeletion = 1
        /// The object was deleted here.
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
}

extension ParkedRelationship {
    /// What is lost where somebody decided who could not see the target.
    ///
    /// - Parameter stamp: When it reached the server.
    package func lost(of entity: String, to winner: ConflictEntry.Winner, at stamp: RecordStamp? = nil) -> ConflictEntry {
        ConflictEntry(
            entity: entity, recordName: key.source, property: key.relationship, losing: .string(destination), winner: winner, losingStamp: stamp,
            winningStamp: nil)
    }
}

/// What a decision changes in the bookkeeping. It is written in one transaction with what it belongs to.
package struct BookkeepingChanges: Hashable, Sendable {
    /// Inserted, or replaced by record name.
    package var records: [RecordState] = []
    package var removedRecords: [String] = []
    package var links: [LinkState] = []
    package var removedLinks: [String] = []
    package var parked: [ParkedRelationship] = []
    package var unparked: [ParkedRelationship.Key] = []
    package var conflicts: [ConflictEntry] = []
    /// Names of records that are not, or no longer, incomplete unless they are among ``incomplete``.
    package var arrived: [String] = []
    package var incomplete: [IncompleteRecord] = []

    package init() {}

    package var isEmpty: Bool {
        records.isEmpty && removedRecords.isEmpty && links.isEmpty && removedLinks.isEmpty && parked.isEmpty
            && unparked.isEmpty && conflicts.isEmpty && arrived.isEmpty && incomplete.isEmpty
    }
}
