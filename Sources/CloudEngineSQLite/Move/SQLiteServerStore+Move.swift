// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudStorageSupport
import Foundation
import GRDB

extension SQLiteServerStore: MovableStorage {
    package func moveState() async throws -> MoveState? { try lookingUp { try SQLiteMoveEnd.state($0) } }

    /// The state of a folder's database, which may be one that servers reject.
    ///
    /// - Returns: Nil also without a database.
    package static func moveState(path: String) throws -> MoveState? {
        let file = "\(path)/tarn.sqlite"
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        var configuration = Configuration()
        configuration.label = "tarn.move"
        configuration.busyMode = .timeout(10)
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: file, configuration: configuration)
            defer { try? queue.close() }
            return try queue.read { try $0.tableExists("meta") ? SQLiteMoveEnd.state($0) : nil }
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }
}
