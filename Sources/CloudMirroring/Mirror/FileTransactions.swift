// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import SQLiteStore

/// The transactions of sync on a store's file that have one subject. Each function gathers facts, lets `MirroringCore` decide, and stores
/// the decision.
///
/// Calls block their thread: they are made on the mirror's own queue.
protocol FileTransactions: Sendable {
    var file: MirrorFile { get }
}

extension FileTransactions {
    var store: SQLiteStore { file.store }
    var mapping: RecordMapping { file.mapping }
    var scope: CKDatabase.Scope { file.scope }
    var surroundings: SyncEnvironment { file.surroundings }
    var metadata: SyncMetadataStore { file.metadata }
    var homeZone: ZoneID { file.homeZone }
    var firstZone: Int64 { file.firstZone }
    var now: Double { file.now }

    func reader(_ reader: StoreReader, zone: Int64 = MirrorZone.home) -> SyncMetadataReader { file.reader(reader, zone: zone) }

    func writer(_ writer: StoreWriter, zone: Int64) -> SyncMetadataWriter { file.writer(writer, zone: zone) }

    func normal(_ id: ZoneID) -> ZoneID { file.normal(id) }

    func write<Value>(_ body: (StoreWriter, inout RelatedRows) throws -> Value) throws -> Committed<Value> { try file.write(body) }
}

extension MirrorFile {
    var opening: FileOpening { FileOpening(file: self) }
    var history: LocalHistory { LocalHistory(file: self) }
    var order: ListOrder { ListOrder(file: self) }
    var account: StoreAccount { StoreAccount(file: self) }
    var accountChanges: AccountChangeTransactions { AccountChangeTransactions(file: self) }
    var exports: ExportTransactions { ExportTransactions(file: self) }
    var pipelinedExport: PipelinedExport { PipelinedExport(file: self) }
    var outbox: Outbox { Outbox(file: self) }
    var rejectedChanges: RejectedChanges { RejectedChanges(file: self) }
    var imports: ImportTransactions { ImportTransactions(file: self) }
    var stagedPages: StagedPages { StagedPages(file: self) }
    var uniqueObjects: UniqueObjects { UniqueObjects(file: self) }
    var oneToOne: OneToOneRelationships { OneToOneRelationships(file: self) }
    var withheldRecords: WithheldRecords { WithheldRecords(file: self) }
    var unreadableValues: UnreadableValues { UnreadableValues(file: self) }
    var lensValues: LensValues { LensValues(file: self) }
    var relocations: Relocations { Relocations(file: self) }
    var followers: RelocationFollowers { RelocationFollowers(file: self) }
    var relocationArrivals: RelocationArrivals { RelocationArrivals(file: self) }
    var arrivals: ArrivedObjects { ArrivedObjects(file: self) }
    var deletions: ConcurrentDeletions { ConcurrentDeletions(file: self) }
    var zones: ZoneListing { ZoneListing(file: self) }
    var shares: ZoneShares { ZoneShares(file: self) }
    var zoneRemovals: ZoneRemovals { ZoneRemovals(file: self) }
    var resets: ZoneResets { ZoneResets(file: self) }
    var inspection: SyncInspection { SyncInspection(file: self) }
    var events: EventTransactions { EventTransactions(file: self) }
}
