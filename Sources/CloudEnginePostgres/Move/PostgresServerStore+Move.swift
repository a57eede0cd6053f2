// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudStorageSupport

extension PostgresServerStore: MovableStorage {
    package func moveState() async throws -> MoveState? { try await reading { try PostgresMoveEnd.state($0) } }

    /// The state of a database, which may be one that servers reject. It has tables of a server.
    package static func moveState(address: String) throws -> MoveState? {
        let connection = try PostgresPrimary(address).connect()
        defer { connection.close() }
        do {
            return try PostgresMoveEnd.state(connection)
        } catch let error as PostgresError {
            throw error.storageFailure
        }
    }
}
