// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore

/// A file for content on its way, readable by its owner only. It goes with ``remove()``, or at the end of the system's
/// temporary files.
struct AssetFile {
    let url: URL
    private let handle: FileHandle

    /// - Parameter hasName: Whether the file is opened by its URL. Decrypted content has no name: nothing is left of it if the process ends.
    /// - Throws: `CloudFailure` for a disk that cannot be written.
    init(hasName: Bool = true) throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-asset-\(UUID().uuidString)")
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        if !hasName { unlink(url.path) }
    }

    func write(_ bytes: some DataProtocol) throws {
        do { try handle.write(contentsOf: bytes) } catch { throw Self.failure }
    }

    func close() throws {
        do { try handle.close() } catch { throw Self.failure }
    }

    func remove() { try? FileManager.default.removeItem(at: url) }

    /// The content of this file, before it is closed. It is read as it is needed.
    func mapped() throws -> Data {
        guard let content = MappedFile.contents(ofOpenFile: handle.fileDescriptor) else { throw Self.failure }
        return content
    }

    /// The content of a file, which is read as it is needed.
    static func mapped(_ url: URL) throws -> Data {
        guard let content = MappedFile.contents(of: url) else { throw failure }
        return content
    }

    private static var failure: CloudFailure {
        CloudFailure(.assetNotAvailable, "an asset could not be written to the disk, or read back from it")
    }
}
