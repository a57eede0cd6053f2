// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation
import Synchronization

/// Reports writes to a store's file or its log, by any process of this machine.
///
/// The kernel reports writes to files of the folder (`inotify`); nothing is polled. Writes from another machine to a
/// shared folder are not reported.
///
/// Source: man7.org, inotify(7).
final class FileWatch: Sendable {
    private let folders: FolderWatches
    private let watch: FolderWatches.Watch

    /// - Parameter changed: Called on a private queue, once for several writes in short succession.
    /// - Throws: ``StoreError`` with `.notPermitted` when the kernel grants no more watches.
    init(url: URL, changed: @escaping @Sendable () -> Void) throws(StoreError) {
        folders = try FolderWatches.shared.get()
        // The log is created and deleted with the connections, so the folder is watched instead of the file.
        watch = try folders.add(
            url.deletingLastPathComponent().path, [url.lastPathComponent, url.lastPathComponent + "-wal"], changed)
    }

    func cancel() { folders.remove(watch) }

    deinit { folders.remove(watch) }
}

/// This process's one inotify instance: a user's limit of instances is low, that of watches per instance high.
private final class FolderWatches: @unchecked Sendable {
    // Unchecked: a dispatch source is only activated here; other properties are constant or behind `state`.
    struct Watch: Sendable {
        let folder: Int32
        let number: Int
    }

    private struct Listener: Sendable {
        let names: Set<String>
        let changed: @Sendable () -> Void
    }

    private struct State: Sendable {
        var next = 0
        /// By the kernel's number of the folder, then by the number of the watch.
        var listeners: [Int32: [Int: Listener]] = [:]
    }

    static let shared: Result<FolderWatches, StoreError> = {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        return descriptor < 0 ? .failure(refusal()) : .success(FolderWatches(descriptor))
    }()

    private static let pause = DispatchTimeInterval.milliseconds(10)

    private let descriptor: Int32
    private let source: any DispatchSourceRead
    private let state = Mutex(State())

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        let queue = DispatchQueue(label: "tarn.store.watch", target: .global(qos: .utility))
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [unowned self] in
            for changed in drain() { changed() }
            // A process with many writes, such as this one, is not woken for each write: the kernel coalesces the reports
            // in between.
            source.suspend()
            queue.asyncAfter(deadline: .now() + Self.pause) { self.source.resume() }
        }
        source.activate()
    }

    func add(_ folder: String, _ names: Set<String>, _ changed: @escaping @Sendable () -> Void) throws(StoreError) -> Watch {
        // The kernel returns the same number for the same folder.
        let watch = state.withLock { state -> Watch? in
            let number = inotify_add_watch(descriptor, folder, UInt32(IN_MODIFY))
            guard number >= 0 else { return nil }
            state.next += 1
            state.listeners[number, default: [:]][state.next] = Listener(names: names, changed: changed)
            return Watch(folder: number, number: state.next)
        }
        guard let watch else { throw Self.refusal() }
        return watch
    }

    /// Removing twice is harmless.
    func remove(_ watch: Watch) {
        state.withLock { state in
            guard state.listeners[watch.folder]?.removeValue(forKey: watch.number) != nil else { return }
            guard state.listeners[watch.folder]?.isEmpty == true else { return }
            state.listeners[watch.folder] = nil
            inotify_rm_watch(descriptor, watch.folder)
        }
    }

    /// - Returns: The distinct functions to call.
    private func drain() -> [@Sendable () -> Void] {
        var written: [Int32: Set<String>] = [:]
        var hasLost = false
        let header = MemoryLayout<inotify_event>.size
        withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while case let count = read(descriptor, buffer.baseAddress, buffer.count), count > 0 {
                var offset = 0
                while offset + header <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let end = min(offset + header + Int(event.len), count)
                    if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { hasLost = true }
                    let bytes = buffer[(offset + header)..<end].prefix { $0 != 0 }
                    written[event.wd, default: []].insert(String(decoding: bytes, as: UTF8.self))
                    offset = end
                }
            }
        }
        return state.withLock { state in
            state.listeners.flatMap { folder, listeners in
                listeners.values.filter { hasLost || !$0.names.isDisjoint(with: written[folder] ?? []) }.map(\.changed)
            }
        }
    }

    private static func refusal() -> StoreError {
        StoreError(.notPermitted, "the store's folder cannot be watched", detail: String(cString: strerror(errno)))
    }
}
