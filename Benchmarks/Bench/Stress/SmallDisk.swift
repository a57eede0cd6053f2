// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A folder on a file system of its own, which can be filled. Without the right to mount one it is a plain folder.
final class SmallDisk {
    let folder: URL
    let isMounted: Bool
    private var filler: URL { folder.appendingPathComponent("filler") }

    init(_ folder: URL, mebibytes: Int) {
        self.folder = folder
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        isMounted = mount("tmpfs", folder.path, "tmpfs", 0, "size=\(mebibytes)m,mode=0700") == 0
    }

    func unmount() { if isMounted { _ = umount2(folder.path, Int32(MNT_DETACH)) } }

    /// Takes the room that is left.
    func fill() {
        let file = open(filler.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while write(file, bytes, bytes.count) > 0 {}
        // The last pages, too.
        while write(file, bytes, 4096) > 0 {}
    }

    func free() { try? FileManager.default.removeItem(at: filler) }

    /// Size of the largest file of the server, in units of `ulimit -f` of 512 bytes.
    var largestFileBlocks: Int {
        let data = folder.appendingPathComponent("data")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: data.path)) ?? []
        let sizes = names.compactMap {
            try? FileManager.default.attributesOfItem(atPath: data.appendingPathComponent($0).path)[.size] as? Int
        }
        return (sizes.max() ?? 0) / 512
    }
}
