// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SystemSupport

/// The folder beside a store with large values, each a file of its own. Files are made and removed, never changed.
///
/// Source: core-data-sqlite-format, "External binary storage".
struct ExternalFolder: Sendable {
    let url: URL

    init(of store: URL) {
        url = SQLiteStore.supportFolder(of: store).appendingPathComponent("_EXTERNAL_DATA", isDirectory: true)
    }

    /// Names of the values' files, sorted; anything else in the folder is none of the store's.
    var names: [String] {
        let present = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return present.filter { UUID(uuidString: $0) != nil }.sorted()
    }

    var bytes: Int64 { names.reduce(0) { $0 + StoreFile.size(path($1)) } }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// - Returns: nil when there is no such file. Its bytes stay readable when it is removed meanwhile.
    func contents(_ name: String) -> Data? {
        MappedFile.contents(of: URL(fileURLWithPath: path(name)))
    }

    /// Makes a file whose bytes are on the disk when this returns; its name is after ``settle()``.
    ///
    /// - Returns: Its name, upper case.
    /// - Throws: ``StoreError``; there is no file then.
    func add(_ value: Data) throws(StoreError) -> String {
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw StoreError(.notPermitted, "the folder for large values cannot be made", detail: url.path)
        }
        let name = UUID().uuidString.uppercased()
        do {
            try DurableFile.create(path(name), permissions: 0o644) { file in
                try MappedFile.forEachPiece(of: value) { try DurableFile.write($0, to: file) }
            }
        } catch {
            throw refusal(error)
        }
        return name
    }

    /// Waits until the names of new files are on the disk, and those of the folders above.
    func settle() throws(StoreError) {
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
