// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The handlers of operations.
///
/// It has the whole service, since its rows name all subjects.
struct OperationTable: Sendable {
    let service: CloudService

    /// Responds to a request by the operation's handler. The table is total: a new operation does not compile without one.
    func respond(to exchange: Exchange) async throws -> ServiceResponse {
        switch exchange.operation {
        case .modifyRecords: try await service.records.modify(exchange)
        case .queryRecords: try await service.records.query(exchange)
        case .lookupRecords: try await service.records.lookup(exchange)
        case .resolveRecords: try await service.shareLinks.resolve(exchange)
        case .acceptRecords: try await service.shareLinks.accept(exchange)
        case .requestAccess: try await service.shareLinks.requestAccess(exchange)
        case .uploadAssets: try await service.assets.upload(exchange)
        case .rereferenceAssets: try await service.assets.rereference(exchange)
        case .listZones: try await service.zones.list(exchange)
        case .lookupZones: try await service.zones.lookup(exchange)
        case .modifyZones: try await service.zones.modify(exchange)
        case .changedZones: try await service.changeFeeds.changedZones(exchange)
        case .databaseChanges: try await service.changeFeeds.databaseChanges(exchange)
        case .zoneChanges: try await service.changeFeeds.zoneChanges(exchange)
        case .zoneSnapshot: try await service.snapshots.send(exchange)
        case .recordChanges: try await service.changeFeeds.recordChanges(exchange)
        case .listSubscriptions: try await service.subscriptions.list(exchange)
        case .lookupSubscriptions: try await service.subscriptions.lookup(exchange)
        case .modifySubscriptions: try await service.subscriptions.modify(exchange)
        case .caller: try await service.users.caller(exchange)
        case .currentUser: try await service.users.currentUser(exchange)
        case .discoverUsers: try await service.users.discover(exchange)
        case .lookupUsersByEmail, .lookupUsersByID: try await service.users.lookup(exchange)
        case .lookupUsersByContacts: service.users.lookupByContacts(exchange)
        case .restrictUser: try await service.restrictions.set(true, exchange)
        case .unrestrictUser: try await service.restrictions.set(false, exchange)
        }
    }
}
