// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import Synchronization
import SystemSupport

/// Requests of save groups that wait for the last request of their group: the bodies in files, and their sizes in memory.
///
/// ```
/// part 0 ─▶ staged/1 ─┐
/// part 1 ─▶ staged/2 ─┼─▶ one transaction of the database; the files are removed
/// part 2 ─────────────┘
/// ```
///
/// The client retries a request that the server lost (`SaveGroupState.missing`), so staged requests need no durability. As rows of the
/// database, each body would be written to the log twice, and flushed to the disk before the response. A new server process starts
/// without staged requests. A rollback does not undo the staging or the removal of a request.
final class StagedRequests: Sendable {
    private struct Owner: Hashable {
        /// Key of the partition.
        let part: Int64
        let userRecordName: String
    }

    private struct Request {
        var size: StagedRequestSize
        /// Name of the file with the body.
        var file: Int
    }

    private struct Group {
        var requests: [Int: Request] = [:]
        /// When a request was last added; milliseconds since 1970 UTC.
        var time: Int64
    }

    private struct State {
        var groups: [Owner: [StagedGroupKey: Group]] = [:]
        var lastFile = 0
    }

    private let folder: String
    private let state = Mutex(State())

    /// - Parameter folder: Made when the first request is staged.
    init(folder: String) { self.folder = folder }

    /// Removes all files, also those of another process, which detects that when it reads one.
    func removeFiles() { try? FileManager.default.removeItem(atPath: folder) }

    /// Stores a request, in place of an earlier one with its number.
    ///
    /// - Throws: `StorageFailure` with `.full` or `.notWritable`; then the earlier one is still there.
    func stage(_ request: StagedRequest, part: Int64, at now: Int64) throws {
        let file = state.withLock { state in
            state.lastFile += 1
            return state.lastFile
        }
        do {
            try write(request.body, to: path(of: file))
        } catch {
            unlink(path(of: file))
            let isFull = error.code == .ENOSPC || error.code == .EDQUOT
            throw StorageFailure(isFull ? .full : .notWritable, "a staged request could not be stored")
        }
        let size = StagedRequestSize(part: request.part, parts: request.parts, bytes: request.body.count, growth: request.growth)
        let replaced = state.withLock { state in
            let owner = Owner(part: part, userRecordName: request.group.userRecordName)
            var group = state.groups[owner, default: [:]].removeValue(forKey: request.group) ?? Group(time: now)
            let replaced = group.requests.updateValue(Request(size: size, file: file), forKey: request.part)
            group.time = max(group.time, now)
            state.groups[owner, default: [:]][request.group] = group
            return replaced
        }
        if let replaced { unlink(path(of: replaced.file)) }
    }

    /// Sizes of the requests of a group, in order of their numbers.
    func sizes(of key: StagedGroupKey, part: Int64) -> [StagedRequestSize] {
        requests(of: key, part: part).values.map(\.size).sorted { $0.part < $1.part }
    }

    /// The body of a request; nil if it is not there. If another process has removed its file, the group is removed.
    func body(_ number: Int, of key: StagedGroupKey, part: Int64) -> [UInt8]? {
        guard let request = requests(of: key, part: part)[number] else { return nil }
        guard let bytes = FileManager.default.contents(atPath: path(of: request.file)), bytes.count == request.size.bytes else {
            remove(key, part: part)
            return nil
        }
        return Array(bytes)
    }

    /// A user's groups. The first is the one to which nothing was added for the longest time.
    func groups(ofUser userRecordName: String, part: Int64) -> [StagedGroup] {
        let groups = state.withLock { $0.groups[Owner(part: part, userRecordName: userRecordName)] ?? [:] }
        return groups.sorted { ($0.value.time, $0.key.deviceID, $0.key.id) < ($1.value.time, $1.key.deviceID, $1.key.id) }.map {
            key, group in
            let sizes = group.requests.values.map(\.size)
            return StagedGroup(key: key, bytes: sizes.reduce(0) { $0 + $1.bytes }, growth: sizes.reduce(0) { $0 + $1.growth })
        }
    }

    func remove(_ key: StagedGroupKey, part: Int64) {
        let removed = state.withLock { state in
            let owner = Owner(part: part, userRecordName: key.userRecordName)
            let removed = state.groups[owner]?.removeValue(forKey: key)
            if state.groups[owner]?.isEmpty == true { state.groups[owner] = nil }
            return removed
        }
        if let removed { unlink([removed]) }
    }

    /// Removes the groups to which nothing was added since a time.
    func removeAll(before time: Int64) {
        let removed = state.withLock { state in
            var removed: [Group] = []
            for (owner, groups) in state.groups {
                removed += groups.values.filter { $0.time < time }
                let kept = groups.filter { $0.value.time >= time }
                state.groups[owner] = kept.isEmpty ? nil : kept
            }
            return removed
        }
        unlink(removed)
    }

    /// Removes the groups of all users, also those of another process. The removal of an account and the reset of a container call it:
    /// each body may contain the name of any user. Clients retry the requests.
    func removeAll() {
        removeAll(before: .max)
        removeFiles()
    }

    // MARK: Files

    private func requests(of key: StagedGroupKey, part: Int64) -> [Int: Request] {
        state.withLock { $0.groups[Owner(part: part, userRecordName: key.userRecordName)]?[key]?.requests ?? [:] }
    }

    private func path(of file: Int) -> String { "\(folder)/\(file)" }

    private func unlink(_ groups: [Group]) {
        for group in groups { for request in group.requests.values { unlink(path(of: request.file)) } }
    }

    private func unlink(_ path: String) { Foundation.unlink(path) }

    private func write(_ body: [UInt8], to path: String) throws(POSIXError) {
        var file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file < 0, errno == ENOENT {
            mkdir(folder, 0o700)
            file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        }
        guard file >= 0 else { throw POSIXError(errno: errno) }
        defer { close(file) }
        do {
            try body.withUnsafeBytes { try DurableFile.write($0, to: file) }
        } catch {
            throw error as? POSIXError ?? POSIXError(.EIO)
        }
    }
}
