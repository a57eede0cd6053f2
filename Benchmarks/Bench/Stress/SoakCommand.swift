// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Synchronization

/// Runs a server under load for a long time: it is killed, its disk fills up, its clock jumps. Afterwards each acknowledged change
/// has to be there, and neither memory nor descriptors may grow.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak", abstract: "Kill a server under load, fill its disk, change its clock, and check all acknowledged saves.",
        discussion: """
            Two thirds of the time are faults, from the seed. In the last third nothing is disturbed, and memory and descriptors are \
            measured. The disk is a small tmpfs, in a user namespace if this process may not mount one, which fills up under the running \
            server. Where no namespace can be made, the size of files is limited (ulimit -f) from a start of the server until it is \
            killed. The clock is moved with libfaketime if it is installed. Ends with 1 if an acknowledged change is missing, or memory or \
            descriptors grow.
            """)

    @Option(help: "The executable tarn.")
    var tarn: String

    @Option(help: "Seconds in total.")
    var seconds = 600.0

    @Option(help: "Seed of the faults and of the devices' changes; a random one by default.")
    var seed: UInt64?

    @Option(help: "Devices, each of a user of its own.")
    var devices = 4

    @Option(help: "Library that moves the clock.")
    var faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"

    @Option(help: "Mebibytes by which resident memory may grow in the last third.")
    var growth = 32.0

    func validate() throws {
        guard seconds >= 10, (1...64).contains(devices) else { throw ValidationError("It takes 10 seconds and 1 to 64 devices at least.") }
    }

    func run() throws {
        SmallDisk.startInNamespace()
        let seed = seed ?? UInt64.random(in: 1...UInt64(UInt32.max))
        print("seed \(seed)")
        fflush(nil)
        let scratch = try Scratch()
        let disk = SmallDisk(scratch.newFile().deletingPathExtension(), mebibytes: 256)
        defer { disk.unmount() }
        print("The disk is \(disk.kind.rawValue).")
        let hasClock = FileManager.default.fileExists(atPath: faketime)
        if !hasClock { print("libfaketime is not installed: the clock does not jump.") }
        let server = try StressServer(tarn: tarn, folder: disk.folder.appendingPathComponent("data"))
        server.shellLimits = ["ulimit -c 0"]
        let users = try (0..<devices).map { SoakDevice(name: "d\($0)", port: server.port, token: try server.newUser("d\($0)")) }
        try server.start()
        defer { server.stop() }

        let isOver = Mutex(false), isAbandoned = Mutex(false), running = Mutex(users.count)
        for (index, device) in users.enumerated() {
            Thread.detachNewThread {
                device.run(
                    seed: seed &+ UInt64(index) &* 7919, isOver: { isOver.withLock { $0 } }, isAbandoned: { isAbandoned.withLock { $0 } })
                running.withLock { $0 -= 1 }
            }
        }
        var random = StressRandom(seed: seed)
        var failures: [String] = []
        let start = ContinuousClock.now
        func elapsed() -> Double { (ContinuousClock.now - start).nanoseconds / 1e9 }
        var faults: [String: Int] = [:]
        while elapsed() < seconds * 2 / 3 {
            usleep(UInt32(500_000 + random.next() % 3_000_000))
            let fault = Fault.allCases[Int(random.next() % UInt64(Fault.allCases.count))]
            guard fault != .clockJump || hasClock else { continue }
            faults[fault.rawValue, default: 0] += 1
            try inject(fault, server, disk, &random)
        }
        server.environment = [:]
        server.shellLimits = ["ulimit -c 0"]
        server.kill9()
        try server.start()
        print("faults: \(faults.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
        fflush(nil)
        let growth = Growth()
        while elapsed() < seconds {
            usleep(500_000)
            growth.note(server, at: elapsed())
        }
        isOver.withLock { $0 = true }
        let patience = ContinuousClock.now
        while running.withLock({ $0 }) > 0, (ContinuousClock.now - patience).nanoseconds < 60e9 { usleep(20_000) }
        if running.withLock({ $0 }) > 0 { failures.append("devices wait for a response for a minute") }
        isAbandoned.withLock { $0 = true }

        // Acknowledged saves must be on disk.
        server.kill9()
        try server.start()
        for device in users { failures += device.check() }
        failures += growth.failures(memoryMax: self.growth)
        print("\(users.map(\.saves).reduce(0, +)) acknowledged requests, \(users.map(\.retries).reduce(0, +)) retries; \(growth.summary)")
        for failure in failures.prefix(50) { print("FAILED \(failure)") }
        print(failures.isEmpty ? "Nothing was lost (seed \(seed))." : "\(failures.count) failures (seed \(seed)).")
        if !failures.isEmpty { throw ExitCode.failure }
    }

    enum Fault: String, CaseIterable { case kill, stop, fullDisk, clockJump }

    private func inject(_ fault: Fault, _ server: StressServer, _ disk: SmallDisk, _ random: inout StressRandom) throws {
        switch fault {
        case .kill:
            server.kill9()
        case .stop:
            server.stop()
        case .fullDisk where disk.isMounted:
            disk.fill()
            usleep(UInt32(500_000 + random.next() % 2_000_000))
            // Sometimes the server ends while its disk is full.
            let isKilled = random.next() % 2 == 0
            if isKilled { server.kill9() }
            disk.free()
            if !isKilled { return }
        case .fullDisk:
            server.kill9()
            // A limit of files that the log of the database meets soon. The signal is ignored, so that writes fail instead.
            server.shellLimits = ["ulimit -c 0", "trap '' XFSZ", "ulimit -f \(disk.largestFileBlocks + 64)"]
            try server.start()
            usleep(UInt32(1_000_000 + random.next() % 2_000_000))
            server.kill9()
            server.shellLimits = ["ulimit -c 0"]
        case .clockJump:
            server.kill9()
            let seconds = Int(random.next() % 172_800) - 86_400
            server.environment = [
                "LD_PRELOAD": faketime, "FAKETIME": "\(seconds >= 0 ? "+" : "")\(seconds)", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            ]
        }
        try server.start()
    }
}

/// Memory and descriptors of an undisturbed server.
private final class Growth {
    private var samples: [(time: Double, memory: Double, descriptors: Double)] = []

    func note(_ server: StressServer, at time: Double) {
        samples.append((time, server.residentMemory / 1_048_576, Double(server.descriptors)))
    }

    /// Change over the measured time by least squares, without the first quarter, in which caches fill.
    private func change(_ value: (Int) -> Double) -> Double {
        let counted = Array(samples.indices.dropFirst(samples.count / 4))
        guard counted.count > 2 else { return 0 }
        let times = counted.map { samples[$0].time }, values = counted.map(value)
        let time = times.reduce(0, +) / Double(times.count), mean = values.reduce(0, +) / Double(values.count)
        let variance = times.map { ($0 - time) * ($0 - time) }.reduce(0, +)
        guard variance > 0 else { return 0 }
        return zip(times, values).map { ($0 - time) * ($1 - mean) }.reduce(0, +) / variance * ((times.last ?? 0) - (times.first ?? 0))
    }

    var memory: Double { change { samples[$0].memory } }
    var descriptors: Double { change { samples[$0].descriptors } }

    var summary: String {
        String(
            format: "memory %.1f MB, growth %.1f MB; %.0f descriptors, growth %.1f", samples.last?.memory ?? .nan, memory,
            samples.last?.descriptors ?? .nan, descriptors)
    }

    func failures(memoryMax: Double) -> [String] {
        var failures: [String] = []
        if memory > memoryMax { failures.append(String(format: "resident memory grows: %.1f MB", memory)) }
        if descriptors > 8 { failures.append(String(format: "descriptors grow: %.1f", descriptors)) }
        return failures
    }
}
