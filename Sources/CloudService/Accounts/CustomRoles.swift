// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

/// The custom roles of containers, and their users.
package struct CustomRoles: ServiceSubject {
    let core: ServiceCore

    /// The custom roles of a container, and which of them a user has.
    package func list(
        ofUser userRecordName: String, containerIdentifier: String, environment: CloudEnvironment
    ) async throws -> (all: [String], held: Set<String>) {
        let partition = Partition(
            containerIdentifier: containerIdentifier, environment: environment, scope: .public, owner: Partition.publicOwner)
        return try await storage.read(partition) { (try $0.roles(), try $0.roles(ofUser: userRecordName)) }
    }

    /// Sets the custom roles of a user, in place of those before.
    ///
    /// - Throws: `WireError` with `.badRequest` for a user or a role that is not there.
    package func set(
        _ roles: Set<String>, ofUser userRecordName: String, containerIdentifier: String, environment: CloudEnvironment
    ) async throws {
        let partition = Partition(
            containerIdentifier: containerIdentifier, environment: environment, scope: .public, owner: Partition.publicOwner)
        let call = core.call(partition, Caller(userRecordName: "", deviceID: "", kind: .operator), baseURL: "")
        let engine = engine
        try await storage.write(partition) { try engine.roles.setRoles(roles, ofUser: userRecordName, in: $0, call) }
    }
}
