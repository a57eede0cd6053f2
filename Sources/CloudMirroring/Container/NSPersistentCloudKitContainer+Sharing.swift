// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import SQLiteStore

// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer, "Sharing objects"; *Sharing Core Data
// objects between iCloud users*; the talk *Build apps that share data through CloudKit and Core Data* (2021).

extension NSPersistentCloudKitContainer {
    /// Shares objects, and everything they are connected with by relationships: all of it goes to a zone of its own, whose
    /// share is returned. Set its title and its participants, and save it with ``persistUpdatedShare(_:in:)``.
    ///
    /// What is connected with a shared object later goes to its zone, too. The server is asked to make zone and share; the
    /// objects follow by and by.
    ///
    /// - Parameters:
    ///   - managedObjects: Saved objects of one store of the private database.
    ///   - share: The share to add them to; nil makes one.
    /// - Returns: IDs of all objects that are in the share now, the share, and its container.
    /// - Throws: ``CocoaError`` 134070 for objects that were not saved, or of another store; ``CKError`` with `.alreadyShared`
    ///   if one of them, or one that is connected with them, is in another share; `.badDatabase` for a store of another
    ///   scope; what the server says. Nothing has changed then.
    nonisolated(nonsending) public func share(
        _ managedObjects: [NSManagedObject], to share: CKShare?
    ) async throws -> (Set<NSManagedObjectID>, CKShare, CKContainer) {
        try await self.share(managedObjects.map(\.objectID), to: share)
    }

    /// As ``share(_:to:)`` that is waited for.
    public func share(
        _ managedObjects: [NSManagedObject], to share: CKShare?,
        completion: @escaping @Sendable (Set<NSManagedObjectID>?, CKShare?, CKContainer?, (any Error)?) -> Void
    ) {
        let ids = managedObjects.map(\.objectID)
        Task {
            do {
                let (shared, share, container) = try await self.share(ids, to: share)
                completion(shared, share, container, nil)
            } catch {
                completion(nil, nil, nil, error)
            }
        }
    }

    private func share(
        _ ids: [NSManagedObjectID], to share: CKShare?
    ) async throws -> (Set<NSManagedObjectID>, CKShare, CKContainer) {
        guard let first = ids.first else {
            throw CocoaError(.persistentStoreOperation, sentence: "There are no objects to share.")
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
            let known = try await mirror.onQueue { [target] in try target.flatMap { try mirror.file.zone($0) } }
            try await mirror.onQueue { try mirror.file.checkShareable(keys, into: known?.zone.number) }
            let saved: CKShare
            if let share, share.described != nil {
                saved = share
            } else {
                let zoneID = share?.recordID.zoneID ?? CKRecordZone.ID(zoneName: MirrorNames.shareZonePrefix + surroundings.makeName())
                target = zoneID.wire
                _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
                saved = try await Self.save(share ?? CKShare(recordZoneID: zoneID), in: container.privateCloudDatabase)
            }
            guard let target, let described = saved.described else {
                throw CloudFailure(.internalError, "the server did not describe the share it saved")
            }
            let moved = try await mirror.onQueue { try mirror.file.assign(keys, to: target, share: described) }
            mirror.storeChanged()
            return (Set(moved.map { persistentStoreCoordinator.objectID(for: $0) }).union(ids), saved, container)
        } catch {
            throw Self.told(error)
        }
    }

    /// Saves a share that was changed, and keeps it. Shares that were changed elsewhere come by themselves.
    ///
    /// - Throws: ``CKError``, with `.serverRecordChanged` if somebody else changed it meanwhile.
    @discardableResult
    public func persistUpdatedShare(_ share: CKShare, in persistentStore: NSPersistentStore) async throws -> CKShare {
        let mirror = try synced(persistentStore)
        do {
            let database = mirror.container.database(with: mirror.file.scope)
            let saved = try await Self.save(share, in: database)
            if let described = saved.described {
                let zone = share.recordID.zoneID.wire
                try await mirror.onQueue { try mirror.file.keep(described, of: zone) }
                mirror.permissions.forget()
            }
            return saved
        } catch {
            throw Self.told(error)
        }
    }

    /// As ``persistUpdatedShare(_:in:)`` that is waited for.
    public func persistUpdatedShare(
        _ share: CKShare, in persistentStore: NSPersistentStore,
        completion: (@Sendable (CKShare?, (any Error)?) -> Void)? = nil
    ) {
        Task {
            do {
                let saved = try await persistUpdatedShare(share, in: persistentStore)
                completion?(saved, nil)
            } catch {
                completion?(nil, error)
            }
        }
    }

    private static func save(_ share: CKShare, in database: CKDatabase) async throws -> CKShare {
        guard let saved = try await database.save(share) as? CKShare else {
            throw CloudFailure(.internalError, "the server answered with another record than a share")
        }
        return saved
    }

    // MARK: Taking part

    /// Joins shares; their objects come into the store by themselves.
    ///
    /// - Parameter persistentStore: One of the shared database.
    /// - Throws: ``CKError``, of the first invitation that could not be accepted; others may have been.
    @discardableResult
    public func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore
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

    /// As ``acceptShareInvitations(from:into:)`` that is waited for.
    public func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore,
        completion: (@Sendable ([CKShare.Metadata]?, (any Error)?) -> Void)? = nil
    ) {
        Task {
            do {
                let accepted = try await acceptShareInvitations(from: metadata, into: persistentStore)
                completion?(accepted, nil)
            } catch {
                completion?(nil, error)
            }
        }
    }

    /// People to invite, for ``CKShare/addParticipant(_:)``.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if somebody is not found, or does not want to be.
    public func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore
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

    /// As ``fetchParticipants(matching:into:)`` that is waited for.
    public func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore,
        completion: @escaping @Sendable ([CKShare.Participant]?, (any Error)?) -> Void
    ) {
        Task {
            do {
                let participants = try await fetchParticipants(matching: lookupInfos, into: persistentStore)
                completion(participants, nil)
            } catch {
                completion(nil, error)
            }
        }
    }

    // MARK: What is shared

    /// The shares of a store, as far as they have come to this device. Nothing is fetched.
    ///
    /// - Parameter persistentStore: nil for all synced stores.
    public func fetchShares(in persistentStore: NSPersistentStore? = nil) throws -> [CKShare] {
        let mirrors = try persistentStore.map { [try synced($0)] } ?? allMirrors
        return try Self.reading { try mirrors.flatMap { mirror in try mirror.file.shares().map { try mirror.share($0.share, $0.zone) } } }
    }

    /// The shares that objects belong to; objects that are not shared have no entry. Nothing is fetched.
    public func fetchShares(matching objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: CKShare] {
        try Self.reading {
            var shares: [NSManagedObjectID: CKShare] = [:]
            for id in objectIDs where !id.isTemporaryID {
                guard let mirror = mirror(of: id.persistentStore), let row = try mirror.file.zone(of: id.key), let share = try row.sharing
                else { continue }
                shares[id] = try mirror.share(share, row.zone)
            }
            return shares
        }
    }

    // MARK: Ending

    /// Removes a zone with everything in it, on the server and here: the owner's zone for everybody, a zone of somebody else
    /// for this user, who leaves its share.
    ///
    /// - Parameter persistentStore: nil for all synced stores that have the zone.
    /// - Throws: ``CKError`` if the server could not be asked; then nothing has changed.
    @discardableResult
    public func purgeObjectsAndRecordsInZone(
        with zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?
    ) async throws -> CKRecordZone.ID {
        let mirrors = try persistentStore.map { [try synced($0)] } ?? allMirrors
        for mirror in mirrors where mirror.file.scope != .public {
            do {
                guard let zone = try await mirror.onQueue({ try mirror.file.zone(zoneID.wire) })?.zone else { continue }
                try await mirror.cloud.open().leave(zone.id, key: surroundings.makeName())
                let removed = try await mirror.onQueue { try mirror.file.remove(zone, keeping: .nothing) }
                mirror.tellContexts(deleted: removed)
            } catch {
                throw Self.told(error)
            }
        }
        return zoneID
    }

    /// As ``purgeObjectsAndRecordsInZone(with:in:)`` that is waited for. Called once for each store.
    public func purgeObjectsAndRecordsInZone(
        with zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?,
        completion: (@Sendable (CKRecordZone.ID?, (any Error)?) -> Void)? = nil
    ) {
        let stores = persistentStore.map { [$0] } ?? allMirrors.filter { $0.file.scope != .public }.map(\.store)
        for store in stores {
            Task {
                do {
                    let purged = try await purgeObjectsAndRecordsInZone(with: zoneID, in: store)
                    completion?(purged, nil)
                } catch {
                    completion?(nil, error)
                }
            }
        }
    }

    // MARK: Errors

    private static func told(_ error: any Error) -> any Error {
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

extension Mirror {
    /// A share that is kept in the store's file, as the app sees it.
    fileprivate func share(_ record: Record, _ zone: MirrorZone) throws -> CKShare {
        // Without a configured server there are no links to show.
        let linkBase = (try? cloud.open().client.transport.linkBase) ?? ""
        return CKShare.kept(record, in: CKRecordZone.ID(zone.id, scope: file.scope), scope: file.scope, linkBase: linkBase)
    }
}
