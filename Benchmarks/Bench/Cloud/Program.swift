// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import TarnCommands

/// A program of its own that takes part in a work: a server, or a device.
final class Program {
    private let spawned: Spawned
    private var unread: [UInt8] = []
    private var isRunning = true
    private let log: URL

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: `POSIXError` if it cannot be started.
    init(_ path: String, _ arguments: [String], environment: [String: String] = [:], log: URL) throws {
        self.log = log
        spawned = try Spawned.start(
            program: path, arguments: arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, log: log.path)
    }

    deinit { stop() }

    /// Waits for the next line of its standard output.
    ///
    /// - Throws: ``Failure`` with the end of its log if the output ended.
    func line() throws -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeFirst(end + 1)
                return line
            }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(spawned.output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let words = (try? String(contentsOf: log, encoding: .utf8))?.split(separator: "\n").last ?? ""
                throw Failure(description: "a program ended early: \(words)")
            }
            unread += buffer[..<count]
        }
    }

    /// Everything it prints until it ends.
    func lines() throws -> [String] {
        var all: [String] = []
        while let line = try? line() { all.append(line) }
        stop()
        return all
    }

    /// Prints a line for the program that started this one.
    static func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    /// Asks it to end, and waits for that.
    func stop() {
        guard isRunning else { return }
        isRunning = false
        kill(spawned.id, SIGTERM)
        close(spawned.input)
        Spawned.waitForTheEnd(of: spawned.id)
        _ = Spawned.release(spawned.id)
        close(spawned.output)
    }

    // MARK: Memory

    /// Its name in `/proc`.
    var id: String { String(spawned.id) }

    /// Bytes that a program holds in memory (`VmRSS`), or the most it held (`VmHWM`).
    ///
    /// - Parameter id: Its name in `/proc`, or `self`.
    static func memory(_ name: String, of id: String) -> Double {
        guard let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8) else { return .nan }
        for line in status.split(separator: "\n") where line.hasPrefix(name) {
            return Double(line.split(whereSeparator: { !$0.isNumber }).first ?? "").map { $0 * 1024 } ?? .nan
        }
        return .nan
    }

    /// Seconds of processor time that a program has used.
    static func processorSeconds(of id: String) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8), let end = text.lastIndex(of: ")") else {
            return .nan
        }
        // utime and stime are fields 14 and 15; the name before them may have spaces.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return .nan }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resets `VmHWM`.
    static func forgetPeak(of id: String) {
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(id)/clear_refs"))
    }
}
