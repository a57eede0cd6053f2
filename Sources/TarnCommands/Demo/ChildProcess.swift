// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A child process.
///
/// It exits with its parent: it runs with `--exit-with-parent`, and its standard input is a pipe that the system closes when
/// this process ends, even by a crash.
final class ChildProcess: Sendable {
    private struct State {
        /// Nil once it is closed.
        var input: Int32?
        /// Afterwards the system may reuse its process ID.
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
    ///   - log: A file to which standard error is appended.
    ///   - onErrors: Receives standard error as it is written, on a thread of its own.
    /// - Throws: ``CommandError`` if the program cannot be started.
    init(
        _ name: String, program: URL, arguments: [String], environment: [String: String] = [:], log: URL,
        onErrors: (@Sendable (Data) -> Void)? = nil
    ) throws {
        self.name = name
        self.log = log
        let spawned: Spawned
        do {
            spawned = try Spawned.start(
                program: program.path, arguments: arguments,
                environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
                log: onErrors == nil ? log.path : nil)
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
        if let errors = spawned.errors, let onErrors {
            Thread.detachNewThread {
                let file = ChildProcess.appending(to: log)
                Spawned.readAll(errors) { data in
                    try? file?.write(contentsOf: data)
                    onErrors(data)
                }
                close(errors)
            }
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

    private static func appending(to log: URL) -> FileHandle? {
        let descriptor = open(log.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        return descriptor < 0 ? nil : FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Runs blocking calls on threads of their own: Swift's pool has only one thread per processor.
    private static func onThread<Value>(_ body: @escaping @Sendable (AsyncStream<Value>.Continuation) -> Void) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        Thread.detachNewThread {
            body(continuation)
            continuation.finish()
        }
        return stream
    }

    /// Waits for a line that begins with `prefix`. Later output isn't read.
    ///
    /// - Returns: The rest of the line.
    /// - Throws: ``CommandError`` with the program's own message if it exits first.
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

    /// Waits for the program's exit and returns its output.
    ///
    /// - Throws: ``CommandError`` with the program's own message if it failed.
    func result() async throws -> String {
        let text = await everything()
        guard await exit.value == 0 else { throw CommandError("\(name): \(lastWords)") }
        return text
    }

    /// Writes a line to standard input, and ends it.
    func finish(writing line: String) {
        state.value.withLock { state in
            guard let input = state.input else { return }
            // A program that ended has closed its end: it reports why by its exit code.
            let file = FileHandle(fileDescriptor: input, closeOnDealloc: false)
            try? file.write(contentsOf: Data((line + "\n").utf8))
        }
        closeInput()
    }

    /// The program's output until it closes standard output.
    func everything() async -> String {
        var all = Data()
        for await data in output { all += data }
        return String(decoding: all, as: UTF8.self)
    }

    /// The last line of the log, which is the error message of a failed program.
    private var lastWords: String {
        let text = (try? Data(contentsOf: log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let line = text.split(separator: "\n").last.map(String.init) ?? "it ended without a word; see \(log.path)"
        return line.hasPrefix("Error: ") ? String(line.dropFirst(7)) : line
    }

    // MARK: The end

    /// Kills the program, as a crash would: it cannot clean up.
    func crash() async {
        send(SIGKILL)
        _ = await exit.value
    }

    /// Terminates the program, and kills it after a timeout.
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

/// Mutable state that a thread and an object share.
private final class SharedState<Value>: Sendable {
    let value: Mutex<Value>

    init(_ value: sending Value) { self.value = Mutex(value) }
}

/// The parent process, which holds the other end of standard input.
package enum ParentProcess {
    /// Exits when the parent has ended. Acknowledged writes are on disk, so the process may exit at any moment.
    package static func exitWhenGone() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(0)
        }
    }
}
