// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A folder for the files of one run, removed at its end.
final class Scratch {
    let folder: URL
    private var count = 0

    /// - Throws: The file system's error.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-bench-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func newFile() -> URL {
        count += 1
        return folder.appendingPathComponent("\(count).sqlite")
    }

    /// A copy of a closed database, in a new file.
    func copy(of file: URL) throws -> URL {
        let copy = newFile()
        try FileManager.default.copyItem(at: file, to: copy)
        return copy
    }

    /// Removes a database with its log and its other files.
    func remove(_ file: URL) throws {
        let name = file.lastPathComponent
        for other in try FileManager.default.contentsOfDirectory(atPath: folder.path) where other.hasPrefix(name) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(other))
        }
    }
}
