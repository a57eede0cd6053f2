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

    /// - Throws: `CloudFailure` for a disk that cannot be written.
    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-asset-\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: url.path)
        else { throw Self.failure }
        self.handle = handle
    }

    func write(_ bytes: some DataProtocol) throws {
        do { try handle.write(contentsOf: bytes) } catch { throw Self.failure }
    }

    func close() throws {
        do { try handle.close() } catch { throw Self.failure }
    }

    func remove() { try? FileManager.default.removeItem(at: url) }

    /// The content of a file, which is read as it is needed.
    static func mapped(_ url: URL) throws -> Data {
        guard let content = MappedFile.contents(of: url) else { throw failure }
        return content
    }

    private static var failure: CloudFailure {
        CloudFailure(.assetNotAvailable, "an asset could not be written to the disk, or read back from it")
    }
}
