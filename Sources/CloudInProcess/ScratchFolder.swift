// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import Synchronization

/// The name of a folder that goes when nobody needs it any more, and at the latest when the process exits: what a test did
/// not let go of must not fill the memory of the machine.
package final class ScratchFolder: Sendable {
    package let url: URL

    package var path: String { url.path }

    /// Memory, where the system offers it as a folder: commits of a test need not reach a disk.
    private static let parent: URL = {
        let memory = "/dev/shm"
        let isThere = FileManager.default.isWritableFile(atPath: memory)
        return isThere ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    }()

    /// Those that are in use. Who asks first sees to it that they go with the process.
    private static let inUse: Mutex<Set<URL>> = {
        atexit { ScratchFolder.removeAll() }
        return Mutex([])
    }()

    /// - Parameter purpose: What its name begins with. Nothing is made yet.
    package init(_ purpose: String) {
        url = Self.parent.appending(path: "\(purpose)-\(UUID().uuidString)")
        Self.inUse.withLock { _ = $0.insert(url) }
    }

    deinit { remove() }

    /// Removes the folder and what is in it, before this goes.
    package func remove() {
        try? FileManager.default.removeItem(at: url)
        Self.inUse.withLock { _ = $0.remove(url) }
    }

    private static func removeAll() {
        for url in inUse.withLock({ $0 }) { try? FileManager.default.removeItem(at: url) }
    }
}
