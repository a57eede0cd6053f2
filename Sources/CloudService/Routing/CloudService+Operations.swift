// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// Responds to a request by the operation's handler. The table is total: a new operation does not compile without one.
    func respond(to exchange: Exchange) async throws -> ServiceResponse {
        switch exchange.operation {
        case .modifyRecords: try await records.modify(exchange)
        case .queryRecords: try await records.query(exchange)
        case .lookupRecords: try await records.lookup(exchange)
        case .resolveRecords: try await shareLinks.resolve(exchange)
        case .acceptRecords: try await shareLinks.accept(exchange)
        case .requestAccess: try await shareLinks.requestAccess(exchange)
        case .uploadAssets: try await assetRequests.upload(exchange)
        case .rereferenceAssets: try await assetRequests.rereference(exchange)
        case .listZones: try await zones.list(exchange)
        case .lookupZones: try await zones.lookup(exchange)
        case .modifyZones: try await zones.modify(exchange)
        case .changedZones: try await changeFeeds.changedZones(exchange)
        case .databaseChanges: try await changeFeeds.databaseChanges(exchange)
        case .zoneChanges: try await changeFeeds.zoneChanges(exchange)
        case .zoneSnapshot: try await snapshots.send(exchange)
        case .recordChanges: try await changeFeeds.recordChanges(exchange)
        case .listSubscriptions: try await subscriptions.list(exchange)
        case .lookupSubscriptions: try await subscriptions.lookup(exchange)
        case .modifySubscriptions: try await subscriptions.modify(exchange)
        case .caller: try await caller(exchange)
        case .currentUser: try await currentUser(exchange)
        case .discoverUsers: try await discoverUsers(exchange)
        case .lookupUsersByEmail, .lookupUsersByID: try await lookupUsers(exchange)
        case .lookupUsersByContacts: lookupUsersByContacts(exchange)
        case .restrictUser: try await restrictions.set(true, exchange)
        case .unrestrictUser: try await restrictions.set(false, exchange)
        }
    }
}
