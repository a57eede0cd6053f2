// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import SQLiteStore

/// The description of an archive, in the metadata of its file.
struct ArchiveNote: Hashable, Sendable {
    /// Key in the metadata that an app reads with `metadataForPersistentStore`.
    static let metadataKey = "TarnArchive"

    var owner: StoreOwner
    /// Seconds since 2001.
    var date: Double
    var objectCount: Int64
    /// The number of unsent records and links; nil if they were not counted.
    var pendingCount: Int64?

    var propertyList: [String: Any] {
        var list: [String: Any] = ["date": Date(timeIntervalSinceReferenceDate: date), "objectCount": objectCount]
        list["account"] = owner.user
        list["server"] = owner.server
        list["pendingCount"] = pendingCount
        return list
    }
}

extension ArchiveNote {
    /// - Returns: nil for another property list.
    init?(propertyList: Any?) {
        guard let list = propertyList as? [String: Any], let date = list["date"] as? Date else { return nil }
        self.init(
            owner: StoreOwner(user: list["account"] as? String, server: list["server"] as? String),
            date: date.timeIntervalSinceReferenceDate, objectCount: (list["objectCount"] as? NSNumber)?.int64Value ?? 0,
            pendingCount: (list["pendingCount"] as? NSNumber)?.int64Value)
    }
}

/// Copies of a store's file, in its folder.
enum ArchiveFile {
    /// How file names of a store's archives begin.
    static func prefix(of url: URL) -> String { "\(url.deletingPathExtension().lastPathComponent)-archive-" }

    /// Copies the file to its folder, with the files of external data. It is called in a write transaction: no other connection writes
    /// concurrently, and a reader of the file sees everything that was saved.
    ///
    /// - Returns: The copy's file name; nil for a store without a file.
    /// - Throws: `StoreError`, such as for a full disk. The caller's transaction is rolled back then, so that nothing is emptied.
    static func add(_ store: SQLiteStore, _ note: ArchiveNote) throws -> String? {
        guard let url = store.url else { return nil }
        return try add(url, note).lastPathComponent
    }

    /// - Returns: Address of the copy. An incomplete one is removed if it cannot be made.
    static func add(_ url: URL, _ note: ArchiveNote) throws(StoreError) -> URL {
        let archive = newArchive(of: url, at: Date(timeIntervalSinceReferenceDate: note.date))
        do {
            try SQLiteStore.replace(at: archive, withStoreAt: url)
            var metadata = try SQLiteStore.metadata(at: archive)
            metadata[ArchiveNote.metadataKey] = note.propertyList
            try SQLiteStore.setMetadata(metadata, at: archive)
        } catch {
            remove(archive)
            throw error
        }
        return archive
    }

    /// Deletes a store's file with its journal, lock and external data.
    static func remove(_ url: URL) {
        for suffix in ["", "-wal", "-shm", "-journal", "-lock"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
        try? FileManager.default.removeItem(at: SQLiteStore.supportFolder(of: url))
    }

    private static func newArchive(of url: URL, at date: Date) -> URL {
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt)
        let base = prefix(of: url) + date.formatted(style)
        let folder = url.deletingLastPathComponent(), kind = url.pathExtension.isEmpty ? "" : "." + url.pathExtension
        var number = 1
        while true {
            let archive = folder.appendingPathComponent((number == 1 ? base : "\(base)-\(number)") + kind)
            if !FileManager.default.fileExists(atPath: archive.path) { return archive }
            number += 1
        }
    }
}
