// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A program that this one started.
///
/// It cannot outlive this one: it is started with `--exit-with-parent`, and its standard input is a pipe whose other
/// end closes with this process, however that ends.
final class ChildProcess: Sendable {
    private struct State {
        /// Nil once it is closed.
        var input: Int32?
        /// Afterwards its number may be that of another process.
        var hasEnded = false
    }

    let name: String
    let processID: Int32
    private let log: URL
    private let output: AsyncStream<Data>
    private let exit: Task<Int32, Never>
    private let state: SharedState<State>

    /// - Parameters:
    ///   - environment: Added to this process's own.
    ///   - log: Where standard error goes, after what is in the file already.
    /// - Throws: ``CommandError`` if the program cannot be started.
    init(_ name: String, program: URL, arguments: [String], environment: [String: String] = [:], log: URL) throws {
        self.name = name
        self.log = log
        let spawned: Spawned
        do {
            spawned = try Spawned.start(
                program: program.path, arguments: arguments,
                environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, log: log.path)
        } catch {
            throw CommandError("\(name) could not be started: \(program.path) cannot be run (\(error.localizedDescription)).")
        }
        processID = spawned.id
        let state = SharedState(State(input: spawned.input))
        self.state = state
        output = Self.onThread { continuation in
            Spawned.readAll(spawned.output) { continuation.yield($0) }
            close(spawned.output)
        }
        let endings = Self.onThread { continuation in
            Spawned.waitForTheEnd(of: spawned.id)
            state.value.withLock { state in
                state.hasEnded = true
                continuation.yield(Spawned.release(spawned.id))
            }
        }
        exit = Task {
            for await status in endings { return status }
            preconditionFailure("the thread that waits for a program yields its exit code")
        }
    }

    deinit { closeInput() }

    /// Blocking calls have threads of their own: there are only as many others as processors.
    private static func onThread<Value>(_ body: @escaping @Sendable (AsyncStream<Value>.Continuation) -> Void) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        Thread.detachNewThread {
            body(continuation)
            continuation.finish()
        }
        return stream
    }

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
        send(SIGKILL)
        _ = await exit.value
    }

    /// Asks the program to end, and insists after a while.
    func stop() async {
        send(SIGTERM)
        closeInput()
        let insisting = Task {
            try await Task.sleep(for: .seconds(5))
            send(SIGKILL)
        }
        _ = await exit.value
        insisting.cancel()
    }

    func ended() async -> Int32 { await exit.value }

    private func send(_ signal: Int32) {
        state.value.withLock { if !$0.hasEnded { kill(processID, signal) } }
    }

    private func closeInput() {
        let input = state.value.withLock { state in
            defer { state.input = nil }
            return state.input
        }
        if let input { close(input) }
    }
}

/// State that a thread and an object share.
private final class SharedState<Value>: Sendable {
    let value: Mutex<Value>

    init(_ value: sending Value) { self.value = Mutex(value) }
}

/// The process that started this one, and holds the other end of standard input.
package enum ParentProcess {
    /// What was answered is on disk, so the process can end at any moment.
    package static func exitWhenGone() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(0)
        }
    }
}
