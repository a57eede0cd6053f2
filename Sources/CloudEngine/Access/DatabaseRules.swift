// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The operations of each database, and the callers that may request them. Anything else is rejected.
///
/// Source: *CloudKit Web Services Reference*, the endpoint table.
package enum DatabaseRules {
    package enum Rule: Hashable, Sendable {
        /// All callers; records are still checked one by one.
        case everyone
        /// Users and server-to-server keys.
        case signedIn
        /// Users, but no server-to-server key.
        case users
        /// Callers that request the capability; for others the database has no such operation.
        case capable(Capability)
        /// The database has no such operation.
        case notApplicable

        /// Whether the operation is there without being asked for.
        package var isDocumented: Bool {
            switch self {
            case .everyone, .signedIn, .users: true
            case .capable, .notApplicable: false
            }
        }
    }

    package static func rule(_ operation: ServicePath.Operation, in scope: DatabaseScope) -> Rule {
        switch (operation, scope) {
        case (.queryRecords, .public), (.lookupRecords, .public), (.listZones, .public), (.lookupZones, .public):
            .everyone
        case (.modifyRecords, .public), (.uploadAssets, .public), (.rereferenceAssets, .public), (.listSubscriptions, .public),
            (.lookupSubscriptions, .public), (.modifySubscriptions, .public):
            .signedIn
        case (.zoneChanges, .public):
            .capable(.publicChanges)
        case (.modifyZones, .public), (.databaseChanges, .public),
            (.recordChanges, .public), (.changedZones, .public):
            .notApplicable
        case (.modifyZones, .shared):
            .notApplicable
        // A participant sees a part of a zone, and a public record may be hidden from a user.
        case (.zoneSnapshot, .public), (.zoneSnapshot, .shared):
            .notApplicable
        // The service in use answers about the caller below `private`, too.
        case (.caller, .public), (.caller, .private), (.currentUser, .public), (.discoverUsers, .public),
            (.lookupUsersByEmail, .public), (.lookupUsersByID, .public), (.lookupUsersByContacts, .public),
            (.resolveRecords, .public), (.acceptRecords, .public), (.requestAccess, .public):
            .users
        case (.restrictUser, .private), (.unrestrictUser, .private):
            .users
        case (.restrictUser, _), (.unrestrictUser, _), (.caller, _), (.currentUser, _), (.discoverUsers, _), (.lookupUsersByEmail, _),
            (.lookupUsersByID, _),
            (.lookupUsersByContacts, _), (.resolveRecords, _), (.acceptRecords, _), (.requestAccess, _):
            .notApplicable
        case (.modifyRecords, _), (.queryRecords, _), (.lookupRecords, _), (.uploadAssets, _), (.listZones, _),
            (.rereferenceAssets, _), (.recordChanges, _), (.changedZones, _),
            (.lookupZones, _), (.modifyZones, _), (.databaseChanges, _), (.zoneChanges, _), (.zoneSnapshot, _), (.listSubscriptions, _),
            (.lookupSubscriptions, _), (.modifySubscriptions, _):
            .users
        }
    }

    /// - Throws: `WireError` as the rule's refusal.
    package static func check(
        _ operation: ServicePath.Operation, in scope: DatabaseScope, _ caller: Caller, capabilities: Set<Capability> = []
    ) throws(WireError) {
        switch rule(operation, in: scope) {
        case .everyone: return
        case .capable(let capability) where capabilities.contains(capability): return
        case .notApplicable, .capable:
            // The text is that of public reports.
            throw WireError(.badRequest, "endpoint not applicable in the database type '\(scope.rawValue)db'")
        case .signedIn:
            guard caller.isSignedIn else { throw WireError(.authenticationRequired, "request needs authorization") }
        case .users:
            guard caller.isSignedIn else { throw WireError(.authenticationRequired, "request needs authorization") }
            guard caller.kind != .serverKey else {
                // Source: public reports: 401, not 403.
                throw WireError(.authenticationFailed, "a server-to-server key cannot be used here")
            }
        }
    }
}
