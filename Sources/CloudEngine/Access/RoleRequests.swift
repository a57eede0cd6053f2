// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The roles of a container's users, and their permissions by record type: the operator changes them.
package struct RoleRequests: Sendable {
    /// Sets the permissions of roles on records of a type, and replaces earlier ones.
    ///
    /// - Throws: `WireError` with `.badRequest` for a type that cannot be, a role that is not there, or more than reading
    ///   for `_world`; with `.accessDenied` unless the operator asks.
    package func setGrants(
        _ grants: SecurityGrants, ofType recordType: String, in unit: any PartitionWriter, _ call: Call
    ) throws {
        try checkOperator(call)
        if let error = NameChecks.recordType(recordType) { throw error }
        let known = SecurityGrants.builtInRoles.union(try unit.roles())
        guard Set(grants.byRole.keys).isSubset(of: known) else {
            throw WireError(.badRequest, "a grant names a role that is not there")
        }
        guard grants.byRole[SecurityGrants.world, default: []].isSubset(of: .read) else {
            throw WireError(.badRequest, "the role _world can only be granted reading")
        }
        try unit.setGrants(grants, ofType: recordType)
    }

    /// - Throws: `WireError` with `.badRequest` for a name that cannot be; with `.accessDenied` unless the operator asks.
    package func addRole(_ role: String, in unit: any PartitionWriter, _ call: Call) throws {
        try checkOperator(call)
        guard NameChecks.recordType(role) == nil else {
            throw WireError(.badRequest, "a role begins with a letter, followed by letters, digits and underscores")
        }
        try unit.addRole(role)
    }

    /// - Throws: `WireError` with `.badRequest` for a user or a role that is not there; with `.accessDenied` unless the
    ///   operator asks.
    package func setRoles(
        _ roles: Set<String>, ofUser userRecordName: String, in unit: any PartitionWriter, _ call: Call
    ) throws {
        try checkOperator(call)
        guard roles.isSubset(of: Set(try unit.roles())) else { throw WireError(.badRequest, "no role has this name") }
        guard try unit.userSince(userRecordName) != nil else { throw WireError(.badRequest, "no user has this name") }
        try unit.setRoles(roles, ofUser: userRecordName)
    }

    private func checkOperator(_ call: Call) throws(WireError) {
        guard call.caller.isOperator else { throw WireError(.accessDenied, "only the operator may do this") }
    }
}
