// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import Synchronization

/// The name of a temporary folder, which is removed with its last user, and at the latest when the process exits:
/// leaked test data would fill the machine's memory.
package final class ScratchFolder: Sendable {
    package let url: URL

    package var path: String { url.path }

    /// In memory, if the system has a folder there, since commits of a test need not reach a disk.
    private static let parent: URL = {
        let memory = "/dev/shm"
        let isThere = FileManager.default.isWritableFile(atPath: memory)
        return isThere ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    }()

    /// The folders in use. The first access registers their removal at exit.
    private static let inUse: Mutex<Set<URL>> = {
        atexit { ScratchFolder.removeAll() }
        return Mutex([])
    }()

    /// - Parameter purpose: Prefix of the folder's name. The folder isn't created yet.
    package init(_ purpose: String) {
        url = Self.parent.appending(path: "\(purpose)-\(UUID().uuidString)")
        Self.inUse.withLock { _ = $0.insert(url) }
    }

    deinit { remove() }

    /// Removes the folder and its content immediately.
    package func remove() {
        try? FileManager.default.removeItem(at: url)
        Self.inUse.withLock { _ = $0.remove(url) }
    }

    private static func removeAll() {
        for url in inUse.withLock({ $0 }) { try? FileManager.default.removeItem(at: url) }
    }
}
