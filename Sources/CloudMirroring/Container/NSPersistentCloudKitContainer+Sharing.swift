// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer, "Sharing objects"; *Sharing Core Data
// objects between iCloud users*; the talk *Build apps that share data through CloudKit and Core Data* (2021).

extension NSPersistentCloudKitContainer {
    func shareObjects(
        _ ids: [NSManagedObjectID], to share: CKShare?
    ) async throws -> (Set<NSManagedObjectID>, CKShare, CKContainer) {
        guard let first = ids.first else {
            throw CocoaError(.persistentStoreOperation, sentence: "The list of objects to share is empty.")
        }
        guard !ids.contains(where: \.isTemporaryID) else {
            throw CocoaError(.persistentStoreOperation, sentence: "Objects are saved before they are shared.")
        }
        guard let store = first.persistentStore, ids.allSatisfy({ $0.persistentStore === store }) else {
            throw CocoaError(.persistentStoreOperation, sentence: "Objects that are shared together are in one store.")
        }
        let mirror = try synced(store)
        guard mirror.file.scope == .private else {
            throw CKError(CloudFailure(.badDatabase, "only objects of a store of the private database can be shared"))
        }
        let keys = ids.map(\.key)
        let container = mirror.container
        do {
            var target = share?.recordID.zoneID.wire
            if share != nil, target?.zoneName.hasPrefix(MirrorNames.shareZonePrefix) != true {
                throw CloudFailure(.invalidArguments, "the share is not one that this container made")
            }
            let known = try await mirror.onQueue { [target] in try target.flatMap { try mirror.file.zones.zone($0) } }
            try await mirror.onQueue { try mirror.file.relocations.checkShareable(keys, into: known?.zone.number) }
            let saved: CKShare
            if let share, share.described != nil {
                saved = share
            } else {
                let zoneID = share?.recordID.zoneID ?? CKRecordZone.ID(zoneName: MirrorNames.shareZonePrefix + environment.makeName())
                target = zoneID.wire
                _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
                saved = try await Self.save(share ?? CKShare(recordZoneID: zoneID), in: container.privateCloudDatabase)
            }
            guard let target, let described = saved.described else {
                throw CloudFailure(.internalError, "the server did not describe the share it saved")
            }
            let moved = try await mirror.onQueue { try mirror.file.relocations.assign(keys, to: target, share: described) }
            mirror.storeChanged()
            return (Set(moved.map { persistentStoreCoordinator.objectID(for: $0) }).union(ids), saved, container)
        } catch {
            throw Self.told(error)
        }
    }

    func saveShare(_ share: CKShare, in persistentStore: NSPersistentStore) async throws -> CKShare {
        let mirror = try synced(persistentStore)
        do {
            let database = mirror.container.database(with: mirror.file.scope)
            let saved = try await Self.save(share, in: database)
            try await keep(saved, mirror)
            return saved
        } catch {
            // The app fetches the present share and repeats its change.
            if let present = (error as? CKError)?.serverRecord as? CKShare { try? await keep(present, mirror) }
            throw Self.told(error)
        }
    }

    private func keep(_ share: CKShare, _ mirror: StoreSync) async throws {
        guard let described = share.described else { return }
        let zone = share.recordID.zoneID.wire
        try await mirror.onQueue { try mirror.file.shares.keep(described, of: zone) }
        mirror.permissions.forget()
    }

    private static func save(_ share: CKShare, in database: CKDatabase) async throws -> CKShare {
        guard let saved = try await database.save(share) as? CKShare else {
            throw CloudFailure(.internalError, "the server answered with another record than a share")
        }
        return saved
    }

    // MARK: Taking part

    func acceptInvitations(
        _ metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Metadata] {
        let mirror = try synced(persistentStore)
        guard mirror.file.scope == .shared else {
            throw CKError(CloudFailure(.badDatabase, "invitations are accepted into a store of the shared database"))
        }
        let container = mirror.container
        defer { mirror.send(.pushArrived) }
        let results = try await container.accept(metadata)
        for result in results.values { _ = try result.get() }
        return metadata
    }

    func findParticipants(
        _ lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Participant] {
        let container = try synced(persistentStore).container
        var participants: [CKShare.Participant] = []
        for info in lookupInfos {
            if let address = info.emailAddress {
                participants.append(try await container.shareParticipant(forEmailAddress: address))
            } else if let number = info.phoneNumber {
                participants.append(try await container.shareParticipant(forPhoneNumber: number))
            } else if let id = info.userRecordID {
                participants.append(try await container.shareParticipant(forUserRecordID: id))
            }
        }
        return participants
    }

    // MARK: Stored shares

    func storedShares(in persistentStore: NSPersistentStore?) throws -> [CKShare] {
        let mirrors = try persistentStore.map { [try synced($0)] } ?? allMirrors
        return try Self.reading {
            try mirrors.flatMap { mirror in try mirror.file.shares.all().map { try mirror.share($0.share, $0.zone) } }
        }
    }

    func storedShares(of objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: CKShare] {
        try Self.reading {
            var shares: [NSManagedObjectID: CKShare] = [:]
            for id in objectIDs where !id.isTemporaryID {
                guard let mirror = mirror(of: id.persistentStore), let row = try mirror.file.zones.zone(of: id.key),
                    let share = try row.sharing
                else { continue }
                shares[id] = try mirror.share(share, row.zone)
            }
            return shares
        }
    }

    // MARK: Ending

    func purge(
        _ zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?
    ) async throws -> CKRecordZone.ID {
        let mirrors = try persistentStore.map { [try synced($0)] } ?? allMirrors
        for mirror in mirrors where mirror.file.scope != .public {
            do {
                let zone = try await mirror.onQueue({ try mirror.file.zones.zone(zoneID.wire) })?.zone
                // A participant whose access was removed has no objects of the zone, and is still listed in the share.
                let isOthers = mirror.file.scope == .shared && zoneID.ownerName != CKCurrentUserDefaultName
                guard let id = zone?.id ?? (isOthers ? zoneID.wire : nil) else { continue }
                try await mirror.cloud.open().leave(id, key: environment.makeName())
                guard let zone else { continue }
                let removed = try await mirror.onQueue { try mirror.file.zoneRemovals.remove(zone, keeping: .nothing) }
                mirror.mergeDeletions(of: removed.keys)
            } catch {
                throw Self.told(error)
            }
        }
        return zoneID
    }

    // MARK: Errors

    static func told(_ error: any Error) -> any Error {
        switch error {
        case let failure as CloudFailure: CKError(failure)
        case let error as StoreError: CocoaError(error)
        default: error
        }
    }

    private static func reading<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw told(error)
        }
    }
}

extension StoreSync {
    /// Returns a share of the store's file as a `CKShare`.
    fileprivate func share(_ record: Record, _ zone: MirrorZone) throws -> CKShare {
        // Without a configured server the share has no URL.
        let linkBase = (try? cloud.open().client.transport.linkBase) ?? ""
        return CKShare.restored(record, in: CKRecordZone.ID(zone.id, scope: file.scope), scope: file.scope, linkBase: linkBase)
    }
}
