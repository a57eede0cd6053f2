// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A permission of a role on records of a type.
///
/// Source: *CloudKit Quick Start*, "Security roles"; the schema language's `GRANT`.
package struct RolePermissions: OptionSet, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static let create = RolePermissions(rawValue: 1)
    package static let read = RolePermissions(rawValue: 2)
    /// Changing and deleting.
    package static let write = RolePermissions(rawValue: 4)
}

/// The permissions on records of one type in the public database, by role. Permissions add up over the
/// roles a caller has; what no role grants is refused.
package struct SecurityGrants: Hashable, Sendable {
    /// Everyone, signed in or not. Only reading may be granted.
    package static let world = "_world"
    /// Every signed-in user.
    package static let signedIn = "_icloud"
    /// The creator of the record.
    package static let creator = "_creator"

    package static let builtInRoles: Set<String> = [world, signedIn, creator]

    /// Roles without an entry have no permission.
    package var byRole: [String: RolePermissions]

    package init(byRole: [String: RolePermissions]) {
        self.byRole = byRole
    }

    /// The default grants of a record type.
    ///
    /// Source: *CloudKit Web Services schema*: the default grants of a new type.
    package static let standard = SecurityGrants(byRole: [world: .read, signedIn: .create, creator: .write])

    /// The grants of the type `Users`: records are created with their users.
    package static let ofUsers = SecurityGrants(byRole: [world: .read, creator: .write])

    package static func standard(ofType recordType: String) -> SecurityGrants {
        recordType == UsersType.name ? ofUsers : standard
    }

    /// The permissions of a caller.
    ///
    /// - Parameters:
    ///   - roles: Custom roles of the caller.
    ///   - isCreator: Whether the record in question was created by the caller.
    func permissions(isSignedIn: Bool, roles: Set<String>, isCreator: Bool) -> RolePermissions {
        var granted: RolePermissions = byRole[Self.world, default: []].intersection(.read)
        guard isSignedIn else { return granted }
        granted.formUnion(byRole[Self.signedIn, default: []])
        if isCreator { granted.formUnion(byRole[Self.creator, default: []]) }
        for role in roles where !Self.builtInRoles.contains(role) { granted.formUnion(byRole[role, default: []]) }
        return granted
    }
}
