// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A folder that goes with the test.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter isInMemory: Whether the folder is in memory where the system has a place for that.
    package init(isInMemory: Bool = false) {
        let memory = "/dev/shm"
        let isPossible = isInMemory && FileManager.default.isWritableFile(atPath: memory)
        let parent = isPossible ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
        path = parent.appending(path: "tarn-\(UUID().uuidString)").path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
