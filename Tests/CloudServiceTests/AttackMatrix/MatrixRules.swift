// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension Matrix {
    /// Callers that a database's operation is open to, before any zone or record is considered.
    enum Callers: Sendable { case everybody, signedIn, users, absent }

    /// The part of a request that permissions are about.
    enum Target: Sendable {
        case zone, link
        /// The caller, the whole database, or other people.
        case none
    }

    /// The matrix's row of an operation.
    struct Row: Sendable {
        var target: Target
        /// Callers by database: public, private, shared.
        var callers: (public: Callers, private: Callers, shared: Callers)
        var probes: [Probe]

        /// A new operation does not compile without its row.
        static func of(_ operation: ServicePath.Operation) -> Row {
            switch operation {
            case .modifyRecords:
                Row(target: .zone, callers: (.signedIn, .users, .users), probes: [.update, .create, .delete, .updateHidden, .updateShare])
            case .queryRecords: Row(target: .zone, callers: (.everybody, .users, .users), probes: [.read])
            case .lookupRecords: Row(target: .zone, callers: (.everybody, .users, .users), probes: [.read, .readHidden])
            case .lookupZones: Row(target: .zone, callers: (.everybody, .users, .users), probes: [.read])
            case .listZones: Row(target: .none, callers: (.everybody, .users, .users), probes: [.read])
            case .uploadAssets, .rereferenceAssets: Row(target: .zone, callers: (.signedIn, .users, .users), probes: [.asset])
            // Needs a capability in the public database, which these requests do not ask for.
            case .recordChanges, .zoneChanges: Row(target: .zone, callers: (.absent, .users, .users), probes: [.read])
            // Snapshots were built of all zones before these were shared.
            case .zoneSnapshot: Row(target: .zone, callers: (.absent, .users, .absent), probes: [.read])
            case .changedZones, .databaseChanges: Row(target: .none, callers: (.absent, .users, .users), probes: [.read])
            case .modifyZones: Row(target: .zone, callers: (.absent, .users, .absent), probes: [.createZone, .deleteZone])
            case .listSubscriptions, .lookupSubscriptions: Row(target: .none, callers: (.signedIn, .users, .users), probes: [.read])
            case .modifySubscriptions: Row(target: .zone, callers: (.signedIn, .users, .users), probes: [.subscribe])
            case .resolveRecords, .acceptRecords, .requestAccess: Row(target: .link, callers: (.users, .absent, .absent), probes: [.read])
            case .caller: Row(target: .none, callers: (.users, .users, .absent), probes: [.read])
            case .currentUser, .discoverUsers, .lookupUsersByEmail, .lookupUsersByID, .lookupUsersByContacts:
                Row(target: .none, callers: (.users, .absent, .absent), probes: [.read])
            case .restrictUser, .unrestrictUser: Row(target: .none, callers: (.absent, .users, .absent), probes: [.read])
            }
        }

        func callers(in scope: DatabaseScope) -> Callers {
            switch scope {
            case .public: callers.public
            case .private: callers.private
            case .shared: callers.shared
            }
        }

        func isOpen(in scope: DatabaseScope, to role: Role) -> Bool {
            switch callers(in: scope) {
            case .everybody: true
            case .signedIn: role != .anonymous
            case .users: role.isUser
            case .absent: false
            }
        }
    }
}
