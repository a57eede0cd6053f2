// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The folder of a store's large values, one file each. Files are created and removed, never changed.
///
/// Source: core-data-sqlite-format, "External binary storage".
struct ExternalFolder: Sendable {
    let url: URL

    init(of store: URL) {
        url = SQLiteStore.supportFolder(of: store).appendingPathComponent("_EXTERNAL_DATA", isDirectory: true)
    }

    /// Names of the values' files, sorted; ignores other files in the folder.
    var names: [String] {
        let present = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return present.filter { UUID(uuidString: $0) != nil }.sorted()
    }

    var bytes: Int64 { names.reduce(0) { $0 + StoreFile.size(path($1)) } }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// - Returns: nil for a missing file. The bytes stay readable after a concurrent removal.
    func contents(_ name: String) -> Data? {
        MappedFile.contents(of: URL(fileURLWithPath: path(name)))
    }

    /// Creates a file and syncs its bytes; its name is durable after ``syncFolders()``.
    ///
    /// - Returns: Its name, upper case.
    /// - Throws: ``StoreError``; the file does not exist then.
    func add(_ value: Data) throws(StoreError) -> String {
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw StoreError(.notPermitted, "the folder for large values cannot be made", detail: url.path)
        }
        let name = UUID().uuidString.uppercased()
        let file = open(path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw refusal(errno) }
        let failure = Self.write(value, to: file)
        close(file)
        if let failure {
            unlink(path(name))
            throw refusal(failure)
        }
        return name
    }

    /// Syncs the names of new files, and of the folders above.
    func syncFolders() throws(StoreError) {
        for folder in [url, url.deletingLastPathComponent(), url.deletingLastPathComponent().deletingLastPathComponent()] {
            let file = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard file >= 0 else { throw refusal(errno) }
            let code = fsync(file) == 0 ? 0 : errno
            close(file)
            // Some file systems cannot sync a folder.
            guard code == 0 || code == EINVAL else { throw refusal(code) }
        }
    }

    func remove(_ names: some Sequence<String>) { for name in names { unlink(path(name)) } }

    /// - Returns: The error number; nil when all bytes are synced.
    private static func write(_ value: Data, to file: Int32) -> Int32? {
        var failure: Int32?
        MappedFile.forEachPiece(of: value) { bytes in
            var done = 0
            while done < bytes.count, failure == nil {
                let count = Foundation.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                if count >= 0 {
                    done += count
                } else if errno != EINTR {
                    failure = errno
                }
            }
        }
        return failure ?? (fsync(file) == 0 ? nil : errno)
    }

    private func refusal(_ code: Int32) -> StoreError {
        let detail = "\(url.path): \(String(cString: strerror(code)))"
        return switch code {
        case ENOSPC, EDQUOT, EFBIG: StoreError(.diskFull, "the disk is full", detail: detail)
        case EACCES, EPERM, EROFS: StoreError(.notPermitted, "a large value cannot be written", detail: detail)
        default: StoreError(.other, "a large value cannot be written", detail: detail)
        }
    }
}
