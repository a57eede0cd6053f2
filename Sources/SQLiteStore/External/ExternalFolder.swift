// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SystemSupport

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
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(.notPermitted, "the folder for large values cannot be made", detail: url.path)
        }
        let name = UUID().uuidString.uppercased()
        // Bytes of a staged file are durable already.
        if MappedFile.link(value, to: path(name)) { return name }
        do {
            try DurableFile.create(path(name), permissions: 0o600) { file in
                try MappedFile.forEachPiece(of: value) { try DurableFile.write($0, to: file) }
            }
        } catch {
            throw refusal(error)
        }
        return name
    }

    /// Syncs the names of new files, and of the folders above.
    func syncFolders() throws(StoreError) {
        do {
            for folder in [url, url.deletingLastPathComponent(), url.deletingLastPathComponent().deletingLastPathComponent()] {
                try DurableFile.synchronize(folder: folder)
            }
        } catch {
            throw refusal(error)
        }
    }

    func remove(_ names: some Sequence<String>) { for name in names { unlink(path(name)) } }

    func refusal(_ error: any Error) -> StoreError {
        let code = (error as? POSIXError)?.code ?? .EIO
        let detail = "\(url.path): \(String(cString: strerror(code.rawValue)))"
        return switch code {
        case .ENOSPC, .EDQUOT, .EFBIG: StoreError(.diskFull, "the disk is full", detail: detail)
        case .EACCES, .EPERM, .EROFS: StoreError(.notPermitted, "a large value cannot be written", detail: detail)
        default: StoreError(.other, "a large value cannot be written", detail: detail)
        }
    }
}
