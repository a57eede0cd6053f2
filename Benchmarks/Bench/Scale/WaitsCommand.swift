// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Synchronization

/// Times how long one transaction of sync makes others wait: saves of the app while an import is applied, and requests of another user while the
/// server executes a save of many requests. Also how long a store takes to open.
struct WaitsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waits", abstract: "Time the longest wait of others during an import and a save of many objects, and opening a store.")

    @Option(help: "Numbers of objects of one save: 1000,5000,20000.")
    var sizes = "1000,5000,20000"

    func run() throws {
        let sizes = sizes.split(separator: ",").compactMap { Int($0) }
        guard !sizes.isEmpty, sizes.allSatisfy({ $0 >= 10 }) else { throw ValidationError("Sizes are numbers from 10 on.") }
        let scratch = try Scratch()
        print(
            ["objects", "export s", "longest request ms", "median", "import s", "longest save ms", "median", "open ms"].joined(
                separator: "\t"))
        for size in sizes {
            let folder = scratch.newFile().deletingPathExtension()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            print(try line(size, folder))
            fflush(nil)
            try FileManager.default.removeItem(at: folder)
        }
    }

    private func line(_ count: Int, _ folder: URL) throws -> String {
        let cloud = try TestCloud()
        func device(_ name: String, _ account: String) throws -> ScaleDevice {
            try ScaleDevice(try blocking { try await cloud.device(name, account: account) }, .plain, in: folder)
        }
        let first = try device("first", "mia"), second = try device("second", "mia")
        let stranger = try blocking { try await cloud.device("stranger", account: "bo") }.container.privateCloudDatabase
        for device in [first, second] { try device.sync() }
        second.container.pauseSyncing()
        try first.insert(0..<count)
        let exported = try Self.timed({ try first.sync() }) {
            try blocking { _ = try await stranger.modifyRecords(saving: [CKRecord(recordType: "Note")], deleting: []) }
        }
        second.container.resumeSyncing()
        let numbers = Mutex(count)
        let imported = try Self.timed({ try second.sync() }) {
            let number = numbers.withLock { number in
                number += 1
                return number
            }
            try second.insert(number..<number + 1)
        }
        try second.close()
        let clock = ContinuousClock(), start = clock.now
        let again = try ScaleDevice(second.device, .plain, in: folder)
        let opening = (clock.now - start).nanoseconds / 1e6
        for device in [first, again] { try device.close() }
        func text(_ value: Double) -> String { String(format: "%.1f", value) }
        return
            ([String(count)] + [exported, imported].flatMap { [String(format: "%.2f", $0.seconds), text($0.longest), text($0.median)] } + [
                text(opening)
            ])
            .joined(separator: "\t")
    }

    /// - Parameter probe: Work that another thread repeats during the measurement.
    /// - Returns: The seconds of the work, and the milliseconds of the longest and the median probe.
    private static func timed(
        _ work: () throws -> Void, _ probe: @escaping @Sendable () throws -> Void
    ) throws -> (seconds: Double, longest: Double, median: Double) {
        let prober = Prober(probe)
        let clock = ContinuousClock(), start = clock.now
        try work()
        let seconds = (clock.now - start).nanoseconds / 1e9
        let waits = try prober.end()
        return (seconds, waits.last ?? 0, waits.isEmpty ? 0 : waits[waits.count / 2])
    }
}

/// Does something again and again on a thread of its own, and times it.
private final class Prober: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let ended = DispatchSemaphore(value: 0)
    private let result = Mutex<Result<[Double], any Error>>(.success([]))

    init(_ probe: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread { [self] in
            let outcome = Result {
                let clock = ContinuousClock()
                var waits: [Double] = []
                while !isOver.load(ordering: .relaxed) {
                    let start = clock.now
                    try probe()
                    waits.append((clock.now - start).nanoseconds / 1e6)
                }
                return waits
            }
            result.withLock { $0 = outcome }
            ended.signal()
        }
    }

    /// - Returns: Milliseconds of each probe, the shortest first.
    func end() throws -> [Double] {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
        return try result.withLock { try $0.get() }.sorted()
    }
}
