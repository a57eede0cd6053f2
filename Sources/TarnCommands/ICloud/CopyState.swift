// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport

/// A part of a database that is read in pages: a custom zone by its change feed, or a record type of a default zone by queries.
struct CopyPart: Hashable, Codable, Sendable {
    var zone: String
    /// Nil for the change feed of a custom zone.
    var recordType: String?

    var shown: String { recordType.map { "record type \($0)" } ?? "zone \(zone)" }
}

/// How far a copy has come. It is written after each page, so that an interrupted copy continues at that page.
struct CopyState: Hashable, Codable {
    /// Source and destination. A state belongs to one copy.
    struct Copy: Hashable, Codable {
        var command: String
        var container: String
        var environment: String
        var database: String
        var iCloud: String
        var tarn: String
        /// Record names of the users; nil for an anonymous client of a public database.
        var iCloudUser: String?
        var tarnUser: String?
    }

    struct Progress: Hashable, Codable {
        /// The sync token or continuation marker after the last page that was written.
        var position: String?
        /// Whether all pages were written. A zone is read again from its token by the next run, a record type from its start.
        var isComplete = false
        /// Records of the pages that were deleted in the source, and not yet in the destination; nil for none.
        var deletions: [String]?
        /// Records that were written without their `DELETE_SELF` references to ``deletions``; nil for none.
        var dependents: [String]?
    }

    struct PartState: Hashable, Codable {
        var part: CopyPart
        var progress: Progress
    }

    /// A record that the destination rejected, often since a record that it refers to was not there yet.
    struct Deferred: Hashable, Codable {
        var zone: String
        var recordName: String
        var reason: String
    }

    static let format = 2
    /// Rejected records after which a copy stops: something is wrong with all of them, such as a missing record type.
    static let deferredMax = 10_000
    /// Deletions of a part that wait for the end of the run. More are executed with their page.
    static let deletionsMax = 10_000

    var format = Self.format
    var copy: Copy
    /// Whether a run began that has not read all parts.
    var isRunning = false
    /// Parts in the order of their first pages.
    var parts: [PartState] = []
    var deferred: [Deferred] = []
    /// Zones with sync tokens that had expired in this run; nil for none. A run that was interrupted reports them at its end.
    var restarted: [String]?
    var copied = 0
    var deleted = 0
    var skipped = 0

    init(_ copy: Copy) { self.copy = copy }

    subscript(part: CopyPart) -> Progress {
        get { parts.first { $0.part == part }?.progress ?? Progress() }
        set {
            guard let index = parts.firstIndex(where: { $0.part == part }) else {
                return parts.append(PartState(part: part, progress: newValue))
            }
            parts[index].progress = newValue
        }
    }

    /// Continues an interrupted run, or begins another one: zones continue at their tokens then, record types begin again.
    mutating func beginRun() {
        guard !isRunning else { return }
        isRunning = true
        (copied, deleted, skipped) = (0, 0, 0)
        restarted = nil
        for index in parts.indices where parts[index].progress.isComplete {
            parts[index].progress.isComplete = false
            if parts[index].part.recordType != nil { parts[index].progress.position = nil }
        }
    }

    /// Adds a rejected record, once.
    mutating func deferRecord(_ record: Deferred) {
        forget(record.recordName, inZone: record.zone)
        deferred.append(record)
    }

    mutating func forget(_ recordName: String, inZone zone: String) {
        deferred.removeAll { $0.recordName == recordName && $0.zone == zone }
    }
}

/// The file of a copy's state.
struct CopyStateFile {
    let url: URL

    init(path: String) { url = URL(fileURLWithPath: path) }

    /// Reads the state of a copy. A missing file returns an empty state.
    ///
    /// - Throws: `CommandError` for a file that is damaged, of a newer version, or of another copy.
    func read(_ copy: CopyState.Copy) throws -> CopyState {
        guard FileManager.default.fileExists(atPath: url.path) else { return CopyState(copy) }
        guard let data = try? Data(contentsOf: url), let head = try? JSONDecoder().decode(Head.self, from: data) else {
            throw damaged
        }
        guard head.format == CopyState.format else {
            throw CommandError("The state \(url.path) was written by another version of tarn: remove it to copy everything again.")
        }
        guard let state = try? JSONDecoder().decode(CopyState.self, from: data) else { throw damaged }
        guard state.copy == copy else {
            throw CommandError(
                "The state \(url.path) is of another copy (\(state.copy.command) of \(state.copy.container), \(state.copy.environment), \(state.copy.database), or of other users): name another file with --state."
            )
        }
        return state
    }

    /// The part of a state that all versions have.
    private struct Head: Decodable {
        var format: Int
    }

    private var damaged: CommandError { CommandError("The state \(url.path) is damaged: remove it to copy everything again.") }

    /// - Throws: `CommandError` if the file cannot be written.
    func write(_ state: CopyState) throws {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            try DurableFile.replace(url, with: try encoder.encode(state))
        } catch {
            throw CommandError("The state \(url.path) cannot be written: check the disk and the folder.")
        }
    }
}
