// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Crypto
import Foundation
import SystemSupport

/// The files of assets, in a folder that only the server's user may read.
///
/// ```
/// assets/PART/CH/CHECKSUM   files by partition and checksum
/// incoming/                 files that are still arriving; those in parts, `partial-…`, outlive the server
/// ```
package struct AssetFolder: Sendable {
    package let path: String

    /// Creates the folders where they are missing, and removes permissions of other users: volumes and service managers make a folder
    /// before the server does, readable by all users of the machine.
    ///
    /// - Parameter makesFolders: `false` for a command that may run where no server does: it changes nothing here.
    /// - Throws: `StorageFailure` with `.notWritable`.
    package init(path: String, makesFolders: Bool = true) throws {
        self.path = path
        guard makesFolders else { return }
        let files = FileManager.default
        do {
            try files.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for folder in [assets, incoming] { try files.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        } catch {
            throw StorageFailure(.notWritable, "the data folder cannot be made or written to")
        }
        guard access(path, W_OK | X_OK) == 0 else { throw StorageFailure(.notWritable, "the data folder cannot be written to") }
        // A folder of another user, such as a mount point, keeps its mode: the folders in it are closed.
        for folder in [path, assets, incoming] { _ = Self.close(folder) }
    }

    /// Takes the permissions of group and others away.
    ///
    /// - Returns: `false` if they have some that the process may not take away. A missing file has none.
    package static func close(_ path: String) -> Bool {
        guard let stamp = FileStamp(path: path), stamp.isOpenToOthers else { return true }
        return chmod(path, mode_t(stamp.permissions & 0o700)) == 0
    }

    /// Whether there is no folder of assets, or nothing in it.
    var isEmpty: Bool {
        guard let folder = opendir(assets) else { return true }
        defer { closedir(folder) }
        // The folder itself and its parent are always listed.
        for _ in 0..<3 where readdir(folder) == nil { return true }
        return false
    }

    // MARK: Paths

    private var assets: String { "\(path)/assets" }
    package var incoming: String { "\(path)/incoming" }

    package func files(part: Int64) -> String { "\(assets)/\(part)" }
    package func parent(part: Int64, checksum: String) -> String { "\(files(part: part))/\(checksum.prefix(2))" }
    package func file(part: Int64, checksum: String) -> String { "\(parent(part: part, checksum: checksum))/\(checksum)" }

    /// What there is of an upload that arrives in parts.
    package func partial(upload id: String) -> String { "\(incoming)/\(Self.partialName(upload: id))" }

    private static let partialPrefix = "partial-"

    private static func partialName(upload id: String) -> String { partialPrefix + Hex.text(SHA256.hash(data: Data(id.utf8))) }

    // MARK: Removal

    /// Removes a file. One that stays takes room and nothing else, so a failure is not reported.
    package func remove(part: Int64, checksum: String) { unlink(file(part: part, checksum: checksum)) }

    /// Files that were arriving whole when the folder's only server ended.
    package func removeLeftovers() { removeIncoming { name, _ in !name.hasPrefix(Self.partialPrefix) } }

    /// Names of the files with parts of uploads.
    package func partials() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: incoming)) ?? []).filter { $0.hasPrefix(Self.partialPrefix) }
    }

    /// Removes those of the parts that belong to no upload of a list.
    package func remove(partials: [String], except uploads: [String]) {
        let kept = Set(uploads.map { Self.partialName(upload: $0) })
        for name in partials where !kept.contains(name) { unlink("\(incoming)/\(name)") }
    }

    /// The part of an abandoned upload.
    package func removePartial(upload id: String) { unlink(partial(upload: id)) }

    /// Arriving files that nobody has written to for a time by the file system's clock, for a folder of several servers.
    package func removeIncoming(untouchedForSeconds seconds: Int64) {
        let time = Int64(Date().timeIntervalSince1970) - seconds
        removeIncoming { _, path in FileStamp(path: path).map { Int64($0.seconds) < time } ?? false }
    }

    private func removeIncoming(_ isLeftover: (_ name: String, _ path: String) -> Bool) {
        let files = FileManager.default
        for name in (try? files.contentsOfDirectory(atPath: incoming)) ?? [] where isLeftover(name, "\(incoming)/\(name)") {
            try? files.removeItem(atPath: "\(incoming)/\(name)")
        }
    }
}
