// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit
import SQLiteStore

/// A file with the sections of a request's results, so that the next run need not read every object to compute them.
///
/// A cache of another request, or from before the last change of the stores' files, is stale and ignored. Errors of
/// reading and writing are ignored. In-memory stores, child contexts and pinned contexts have no cache.
///
/// The files are in `$XDG_CACHE_HOME` or `~/.cache`, in a folder with the program's name.
struct SectionCache: Equatable {
    private struct Contents: Codable, Equatable {
        var request: String
        var sections: [ResultsSections.Entry]
    }

    private let file: URL
    /// The request and the state of the stores, as text.
    private let request: String

    /// - Returns: nil with an in-memory store.
    init?(_ name: String, _ query: StoreQuery, of stores: [NSPersistentStore], sectionNameKeyPath: String) {
        var parts = ["\(query.entity) \(query.includesSubentities)", sectionNameKeyPath, query.predicate?.formatDescription ?? ""]
        parts += query.sort.map { key in
            "\(key.keyPath.joined(separator: ".")) \(key.ascending) \(key.options.rawValue) \(key.collation?.rawValue ?? "")"
        }
        parts.append("\(query.limit ?? 0) \(query.offset)")
        for store in stores {
            guard let url = store.url, url.path != "/dev/null" else { return nil }
            parts.append(store.identifier)
            for suffix in ["", "-wal"] { parts.append(Self.state(of: url.path + suffix)) }
        }
        request = parts.joined(separator: "\n")
        file = Self.folder.appendingPathComponent(Self.fileName(name))
    }

    func sections(of count: Int) -> [ResultsSections.Entry]? {
        guard let data = try? Data(contentsOf: file), let contents = try? JSONDecoder().decode(Contents.self, from: data),
            contents.request == request, contents.sections.reduce(0, { $0 + $1.count }) == count
        else { return nil }
        return contents.sections
    }

    func write(_ sections: [ResultsSections.Entry]) {
        guard let data = try? JSONEncoder().encode(Contents(request: request, sections: sections)) else { return }
        try? FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
        try? data.write(to: file, options: .atomic)
    }

    /// - Parameter name: nil for all caches of the program.
    static func delete(_ name: String?) {
        try? FileManager.default.removeItem(at: name.map { folder.appendingPathComponent(fileName($0)) } ?? folder)
    }

    private static var folder: URL {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0, isDirectory: true) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".cache", isDirectory: true)
        return base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
            .appendingPathComponent("FetchedResultsSections", isDirectory: true)
    }

    private static func fileName(_ name: String) -> String {
        Data(name.utf8).base64EncodedString().split(separator: "/", omittingEmptySubsequences: false).joined(separator: "_") + ".json"
    }

    /// Size and modification time; in nanoseconds if the file system has them.
    private static func state(of path: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0 else { return "-" }
        return "\(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
}
