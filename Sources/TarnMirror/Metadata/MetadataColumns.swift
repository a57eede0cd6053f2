// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Single values of the sync metadata, stored as one JSON text.
struct MirrorState: Codable, Hashable, Sendable {
    /// The version of the metadata's format. Files of a later one are rejected.
    var format = MirrorState.currentFormat
    /// The identifier of the container that the store belongs to.
    var container: String?
    /// The UUID of the app's store: a replaced store has other objects.
    var store: String?
    /// The record name of the user that owns the data.
    var user: String?
    /// The identity of the server that the data come from.
    var server: String?
    var fingerprint: String?
    /// The names on the server of the model's parts.
    var serverNames: String?
    /// The archived token of the last history transaction that was read; nil before the first one.
    var historyToken: Data?
    /// The number of the last transaction that was read, as the mirror counts them: see ``MirroredStore/scan()``.
    var lastMark: Int64 = 0
    /// The change token of the zone.
    var token: String?
    /// The change token of the last save that no import has passed.
    var exportedToken: String?
    /// The number of the last full fetch.
    var generation: Int64 = 1
    /// Whether that fetch is in progress.
    var isFullFetch = true
    /// The change token of the list of zones: its later pages have the reason of the zone's deletion.
    var databaseToken: String?

    static let currentFormat = 1
}

/// The columns of a record's metadata.
struct RecordColumns: Codable, Hashable {
    var name: String
    var key: Int64
    var entity: String
    /// `NSManagedObjectID.uriRepresentation()` of the object.
    var uri: String
    var tag: String?
    var base: Data?
    var unapplied: Data?
    var digests: String?
    var stage: Int
    var mark: Int64
    var failure: String?
    var generation: Int64
    var creator: String?
    var created: Int64?
    /// The text of ``FieldStates``; nil without quarantined values.
    var quarantine: String?
}

struct LinkColumns: Codable, Hashable {
    var name: String
    var entities: String
    var relationships: String
    var first: String
    var second: String
    var tag: String?
    var stage: Int
    var mark: Int64
    var failure: String?
    var generation: Int64
}

struct DeferredColumns: Codable, Hashable {
    var source: String
    var relationship: String
    /// Empty for a resolved reference.
    var destination: String
}

struct ConflictColumns: Codable, Hashable {
    /// Seconds since 2001.
    var noted: Double
    var entity: String
    var record: String
    var property: String
    var losing: Data?
    var winner: Int
    /// Milliseconds since 1970 UTC by the server's clock.
    var losingStamp: Int64?
}

/// Changes of the sync metadata, in a form that can wait in the journal.
struct MetadataChanges: Codable, Hashable {
    var records: [RecordColumns] = []
    var removedRecords: [String] = []
    var links: [LinkColumns] = []
    var removedLinks: [String] = []
    var deferred: [DeferredColumns] = []
    var resolved: [DeferredColumns] = []
    var conflicts: [ConflictColumns] = []
    /// nil leaves it as it is.
    var state: MirrorState?
}
