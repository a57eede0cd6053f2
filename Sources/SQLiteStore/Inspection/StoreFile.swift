// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB

/// A store's file opened to be looked at: nothing in its folder changes, and an app may have it open meanwhile.
///
///     log and its index there   → read together with whoever else reads and writes
///     log without its index     → a copy is read, since reading makes an index
///     no log, no log needed     → read as a file that nobody changes
struct StoreFile {
    let url: URL
    let database: DatabaseQueue
    private let copy: TemporaryCopy?

    /// - Throws: ``StoreError``: `.notFound`, `.notPermitted`, or `.corrupt` for what is no database.
    init(_ url: URL) throws(StoreError) {
        self.url = url
        try Self.checkHeader(url)
        let path = url.path
        let (hasLog, hasIndex) = (Self.size(path + "-wal") > 0, Self.exists(path + "-shm") && Self.exists(path + "-wal"))
        do {
            if hasIndex {
                (copy, database) = (nil, try Self.open(path))
            } else if hasLog || Self.size(path + "-journal") > 0 {
                let copy = try TemporaryCopy(of: url)
                (self.copy, database) = (copy, try Self.open(copy.url.path))
            } else {
                // A file that is in use has a log, so that nobody is about to change this one.
                (copy, database) = (nil, try Self.open(URL(fileURLWithPath: path).absoluteString + "?immutable=1"))
            }
        } catch {
            throw StoreError(error).about(path)
        }
    }

    /// - Throws: ``StoreError``.
    func read<T>(_ body: (Connection) throws -> T) throws(StoreError) -> T {
        do {
            return try database.read { try body(Connection($0)) }
        } catch {
            throw StoreError(error).about(url.path)
        }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "inspection"
        configuration.readonly = true
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            if let handle = database.sqliteConnection {
                SQLFunctions.register(on: handle)
                SQLFunctions.registerApples(on: handle)
            }
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Says what else it may be before SQLite only says that it is no database.
    private static func checkHeader(_ url: URL) throws(StoreError) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw StoreError(.notFound, "there is no such file", detail: url.path)
        }
        if isFolder.boolValue { throw StoreError(.notFound, "this is a folder and not a store's file", detail: url.path) }
        guard let file = FileHandle(forReadingAtPath: url.path) else {
            throw StoreError(.notPermitted, "the file cannot be read", detail: url.path)
        }
        defer { try? file.close() }
        let start = (try? file.read(upToCount: 16)) ?? Data()
        if start.isEmpty { throw StoreError(.corrupt, "the file is empty", detail: url.path) }
        if start != Data("SQLite format 3\0".utf8) {
            throw StoreError(.corrupt, "the file is not a SQLite database", detail: url.path)
        }
    }

    static func size(_ path: String) -> Int64 {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.int64Value ?? 0
    }

    static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}

/// A file with its log in a folder that goes with this value's last owner.
private final class TemporaryCopy: Sendable {
    let url: URL
    private let folder: URL

    init(of original: URL) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-store-\(UUID().uuidString)")
        url = folder.appendingPathComponent("store.sqlite")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for suffix in ["", "-wal", "-journal"] where StoreFile.exists(original.path + suffix) {
            try FileManager.default.copyItem(atPath: original.path + suffix, toPath: url.path + suffix)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path + suffix)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}
