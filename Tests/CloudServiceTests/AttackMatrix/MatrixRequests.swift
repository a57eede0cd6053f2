// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension Matrix {
    /// Names in each zone of the owner.
    enum Names {
        static let recordType = "Diary"
        static let visible = "visible"
        /// Child of the visible record.
        static let leaf = "leaf"
        static let hidden = "hidden"
        static let share = "share"
        static let subscription = "owners-subscription"
        static let field = "text"
        /// The field of queries, which has the same value in every record.
        static let kind = "kind"
        static let assetField = "photo"
    }

    /// The body of a cell's request.
    static func body(_ cell: Cell, _ world: MatrixWorld) -> [UInt8] {
        // The public database has no owners of zones.
        let owner: String? = cell.scope == .public ? nil : world.ownerName
        let zoneID = ZoneID(zoneName: cell.zone.name, ownerRecordName: owner)
        let isHidden = cell.probe == .readHidden || cell.probe == .updateHidden
        let name = isHidden ? Names.hidden : Names.visible
        switch cell.operation {
        case .modifyRecords:
            return ModifyRecordsRequest(operations: [change(cell, name, world)], zoneID: zoneID, atomic: false).encoded()
        case .queryRecords:
            let filter = QueryFilter(.field(Names.kind), .equals, .string(Names.kind))
            return QueryRecordsRequest(query: Query(recordType: Names.recordType, filters: [filter]), zoneID: zoneID).encoded()
        case .lookupRecords: return LookupRecordsRequest(recordNames: [name], zoneID: zoneID).encoded()
        case .uploadAssets:
            return AssetUploadRequest(
                items: [.init(recordType: Names.recordType, recordName: Names.visible, fieldName: Names.assetField)], zoneID: zoneID
            ).encoded()
        case .rereferenceAssets:
            return RereferenceAssetsRequest(zoneID: zoneID, assets: [.init(recordName: Names.visible, fieldName: Names.assetField)])
                .encoded()
        case .recordChanges: return RecordChangesRequest(zone: ZoneChangesQuery(zoneID: zoneID)).encoded()
        case .zoneChanges: return ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: zoneID)]).encoded()
        case .changedZones: return ChangedZonesRequest().encoded()
        case .databaseChanges: return DatabaseChangesRequest().encoded()
        case .lookupZones: return ZonesLookupRequest(zones: [zoneID]).encoded()
        case .modifyZones:
            return ZonesModifyRequest(operations: [cell.probe == .createZone ? .create(zoneID) : .delete(zoneID)]).encoded()
        case .lookupSubscriptions: return SubscriptionsLookupRequest(subscriptionIDs: [Names.subscription]).encoded()
        case .modifySubscriptions:
            let query = QuerySubscription(query: Query(recordType: Names.recordType), firesOn: [.update], zoneID: zoneID)
            let subscription = Subscription(subscriptionID: "attack", kind: .query(query), notification: .silent)
            return SubscriptionsModifyRequest(operations: [.create(subscription)]).encoded()
        case .resolveRecords, .acceptRecords, .requestAccess:
            let guid = world.links[cell.zone] ?? String(repeating: "0", count: 40)
            return ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: guid, shouldFetchRootRecord: true)]).encoded()
        case .discoverUsers: return DiscoverUsersRequest(lookupInfos: [.emailAddress(MatrixWorld.ownerAddress)]).encoded()
        case .lookupUsersByEmail: return LookupUsersRequest(users: [.emailAddress(MatrixWorld.ownerAddress)]).encoded()
        case .lookupUsersByID: return LookupUsersRequest(users: [.userRecordName(world.ownerName)]).encoded()
        case .listZones, .listSubscriptions, .caller, .currentUser, .zoneSnapshot: return []
        case .lookupUsersByContacts, .restrictUser, .unrestrictUser: return Array("{}".utf8)
        }
    }

    private static func change(_ cell: Cell, _ name: String, _ world: MatrixWorld) -> RecordOperation {
        func record(_ name: String, under parent: String? = nil) -> Record {
            var record = Record(recordName: name, recordType: Names.recordType, fields: [Names.field: Field(.string("overwritten"))])
            record.sharing.parent = parent
            return record
        }
        switch cell.probe {
        case .create: return RecordOperation(.create, record("fresh", under: cell.scope == .public ? nil : Names.visible))
        case .delete: return RecordOperation(.forceDelete, record(Names.leaf))
        case .updateShare:
            let shareName = cell.zone == .zoneWide ? ShareDetails.zoneShareName : Names.share
            var share = Record(recordName: shareName, recordType: ShareDetails.recordType)
            let sender = UserIdentity(userRecordName: world.names[cell.sender.role] ?? "_0123456789abcdef0123456789abcdef")
            share.sharing.details = ShareDetails(
                publicPermission: .readWrite, participants: [ShareParticipant(identity: sender, permission: .readWrite)])
            return RecordOperation(.forceUpdate, share)
        default: return RecordOperation(.forceUpdate, record(name))
        }
    }
}
