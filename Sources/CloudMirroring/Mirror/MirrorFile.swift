// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import ObjectGraph
import SQLiteStore

/// A store's file, with what all transactions of sync on it have in common. The transactions are those of ``FileTransactions``, by subject.
///
/// Calls block their thread: they are made on the mirror's own queue.
struct MirrorFile: Sendable {
    let store: SQLiteStore
    let mapping: RecordMapping
    let containerIdentifier: String
    let scope: CKDatabase.Scope
    let accountRules: AccountRules
    /// Seconds between imports of a database without a change feed.
    let pollSeconds: Double
    let surroundings: SyncEnvironment

    var metadata: SyncMetadataStore { SyncMetadataStore(mapping: mapping, storeNumber: store.number) }

    func reader(_ reader: StoreReader, zone: Int64 = MirrorZone.home) -> SyncMetadataReader { metadata.reader(reader, zone: zone) }

    func writer(_ writer: StoreWriter, zone: Int64) -> SyncMetadataWriter { metadata.writer(writer, zone: zone) }

    /// The zone of objects that are not shared.
    var homeZone: ZoneID {
        switch scope {
        case .private: ZoneID(zoneName: MirrorNames.zone)
        case .public: .defaultZone
        case .shared: ZoneID(zoneName: "")
        }
    }

    /// The first zone on the server: the shared database has no home zone.
    var firstZone: Int64 { scope == .shared ? MirrorZone.home + 1 : MirrorZone.home }

    /// Returns the identifier without the owner's name in the user's own zones: responses may have it or not.
    func normal(_ id: ZoneID) -> ZoneID { scope == .shared ? id : ZoneID(zoneName: id.zoneName) }

    /// Seconds since 2001.
    var now: Double { surroundings.now().timeIntervalSinceReferenceDate }

    /// Runs a transaction that may relate rows.
    func write<Value>(_ body: (StoreWriter, inout RelatedRows) throws -> Value) throws -> Committed<Value> {
        var related = RelatedRows()
        let value = try store.write { writer in
            let value = try body(writer, &related)
            try repair(&related, writer)
            return value
        }
        return Committed(value: value, commit: related.commit(store: store.number))
    }

    /// Makes one-to-one relationships two-sided that relocations have set. An import has applied its pages by then.
    private func repair(_ related: inout RelatedRows, _ writer: StoreWriter) throws {
        while case let suspects = related.takeSuspects(), !suspects.isEmpty {
            var commit = StoreCommit(store: store.number)
            let connections = try oneToOne.repair(suspects, &commit, writer)
            related.add(commit)
            try followers.follow(connections, writer, &related)
        }
    }
}
