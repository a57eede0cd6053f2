// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// Responds to a request by the operation's handler. The table is total: a new operation does not compile without one.
    func respond(to exchange: Exchange) async throws -> ServiceResponse {
        switch exchange.operation {
        case .modifyRecords: try await modifyRecords(exchange)
        case .queryRecords: try await queryRecords(exchange)
        case .lookupRecords: try await lookupRecords(exchange)
        case .resolveRecords: try await resolveShares(exchange)
        case .acceptRecords: try await acceptShares(exchange)
        case .requestAccess: try await requestAccess(exchange)
        case .uploadAssets: try await uploadAssets(exchange)
        case .rereferenceAssets: try await rereferenceAssets(exchange)
        case .listZones: try await listZones(exchange)
        case .lookupZones: try await lookupZones(exchange)
        case .modifyZones: try await modifyZones(exchange)
        case .changedZones: try await changedZones(exchange)
        case .databaseChanges: try await databaseChanges(exchange)
        case .zoneChanges: try await zoneChanges(exchange)
        case .zoneSnapshot: try await zoneSnapshot(exchange)
        case .recordChanges: try await recordChanges(exchange)
        case .listSubscriptions: try await listSubscriptions(exchange)
        case .lookupSubscriptions: try await lookupSubscriptions(exchange)
        case .modifySubscriptions: try await modifySubscriptions(exchange)
        case .caller: try await caller(exchange)
        case .currentUser: try await currentUser(exchange)
        case .discoverUsers: try await discoverUsers(exchange)
        case .lookupUsersByEmail, .lookupUsersByID: try await lookupUsers(exchange)
        case .lookupUsersByContacts: lookupUsersByContacts(exchange)
        case .restrictUser: try await setRestriction(true, exchange)
        case .unrestrictUser: try await setRestriction(false, exchange)
        }
    }
}
