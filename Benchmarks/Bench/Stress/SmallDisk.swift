// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A folder on a file system of its own, which can be filled.
///
/// | kind | needs | covers |
/// |---|---|---|
/// | tmpfs | the right to mount | a disk that fills up and becomes free under a running server, in any file |
/// | tmpfs in a user namespace | `unshare`, and a system that lets users make namespaces | the same |
/// | folder | nothing | a server that was started with a limit of the size of files: writes past it fail (`EFBIG`), in the largest \
/// file, and never become possible again |
final class SmallDisk {
    enum Kind: String {
        case mounted = "a tmpfs"
        case mountedInNamespace = "a tmpfs in a user namespace"
        case folder = "a folder, where the size of files is limited"
    }

    /// Set for the process that ``startInNamespace()`` starts.
    private static let variable = "TARN_STRESS_NAMESPACE"

    let folder: URL
    let kind: Kind
    var isMounted: Bool { kind != .folder }
    private var filler: URL { folder.appendingPathComponent("filler") }

    init(_ folder: URL, mebibytes: Int) {
        self.folder = folder
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let isMounted = mount("tmpfs", folder.path, "tmpfs", 0, "size=\(mebibytes)m,mode=0700") == 0
        kind = isMounted ? (getenv(Self.variable) == nil ? .mounted : .mountedInNamespace) : .folder
    }

    /// Replaces this process, which may not mount, by one that may: in namespaces of its own for users and mounts, where it is root.
    ///
    /// It returns if the process may mount, or the system does not let users make such namespaces.
    ///
    /// Source: user_namespaces(7), mount_namespaces(7), unshare(1).
    static func startInNamespace() {
        guard geteuid() != 0, getenv(variable) == nil else { return }
        let namespace = ["unshare", "--user", "--map-root-user", "--mount"]
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        probe.arguments = namespace + ["mount", "-t", "tmpfs", "tmpfs", FileManager.default.temporaryDirectory.path]
        probe.standardError = FileHandle.nullDevice
        guard (try? probe.run()) != nil else { return }
        probe.waitUntilExit()
        guard probe.terminationStatus == 0,
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { return }
        setenv(variable, "1", 1)
        let arguments = namespace + ["--", program] + CommandLine.arguments.dropFirst()
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        execvp("unshare", &pointers)
        // Without `unshare` the process goes on as it is.
        unsetenv(variable)
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
