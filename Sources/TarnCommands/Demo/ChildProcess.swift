// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A program that this one started.
///
/// It cannot outlive this one: it is started with `--exit-with-parent`, and its standard input is a pipe whose other
/// end closes with this process, however that ends.
final class ChildProcess: Sendable {
    let name: String
    private let process: Process
    private let input: Pipe
    private let output: AsyncStream<Data>
    private let log: URL
    private let exit: Task<Int32, Never>

    /// - Parameters:
    ///   - environment: Added to this process's own.
    ///   - log: Where standard error goes, after what is in the file already.
    /// - Throws: ``CommandError`` if the program cannot be started.
    init(_ name: String, program: URL, arguments: [String], environment: [String: String] = [:], log: URL) throws {
        self.name = name
        self.log = log
        process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        input = Pipe()
        let pipe = Pipe()
        process.standardInput = input
        process.standardOutput = pipe
        output = Self.chunks(of: pipe.fileHandleForReading)
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let logHandle = try FileHandle(forWritingTo: log)
        try logHandle.seekToEnd()
        process.standardError = logHandle
        let (statuses, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        exit = Task {
            for await status in statuses { return status }
            return -1
        }
        do {
            try process.run()
        } catch {
            throw CommandError("\(name) could not be started: there is no program \(program.path) that can be run.")
        }
        try logHandle.close()
    }

    private static func chunks(of handle: FileHandle) -> AsyncStream<Data> {
        AsyncStream { continuation in
            handle.readabilityHandler = { handle in
                let data = handle.availableData
                if data.isEmpty {
                    handle.readabilityHandler = nil
                    continuation.finish()
                } else {
                    continuation.yield(data)
                }
            }
        }
    }

    var processID: Int32 { process.processIdentifier }

    /// Waits until the program prints a line with `prefix` in front. Nobody reads what it prints afterwards.
    ///
    /// - Returns: The rest of the line.
    /// - Throws: ``CommandError`` with the program's own words if it ends before.
    func line(after prefix: String) async throws -> String {
        var text = ""
        for await data in output {
            text += String(decoding: data, as: UTF8.self)
            for line in text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1) where line.hasPrefix(prefix) {
                return String(line.dropFirst(prefix.count))
            }
        }
        try Task.checkCancellation()
        _ = await exit.value
        throw CommandError("\(name) could not be started: \(lastWords)")
    }

    /// Waits until the program ends, and returns all that it printed.
    ///
    /// - Throws: ``CommandError`` with the program's own words if it failed.
    func result() async throws -> String {
        let text = await everything()
        guard await exit.value == 0 else { throw CommandError("\(name): \(lastWords)") }
        return text
    }

    /// All that the program prints until it closes its standard output.
    func everything() async -> String {
        var all = Data()
        for await data in output { all += data }
        return String(decoding: all, as: UTF8.self)
    }

    /// The last line of the log: a program that fails ends with a sentence.
    private var lastWords: String {
        let text = (try? Data(contentsOf: log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let line = text.split(separator: "\n").last.map(String.init) ?? "it ended without a word; see \(log.path)"
        return line.hasPrefix("Error: ") ? String(line.dropFirst(7)) : line
    }

    // MARK: The end

    /// Ends the program as a crash would: it does not get to do anything.
    func crash() async {
        kill(processID, SIGKILL)
        _ = await exit.value
    }

    /// Asks the program to end, and insists after a while.
    func stop() async {
        if process.isRunning { process.terminate() }
        try? input.fileHandleForWriting.close()
        let insisting = Task { [processID] in
            try await Task.sleep(for: .seconds(5))
            kill(processID, SIGKILL)
        }
        _ = await exit.value
        insisting.cancel()
    }

    func ended() async -> Int32 { await exit.value }
}

/// The process that started this one, and holds the other end of standard input.
enum ParentProcess {
    /// What was answered is on disk, so the process can end at any moment.
    static func exitWhenGone() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(0)
        }
    }
}
