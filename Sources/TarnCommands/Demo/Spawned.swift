// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import Synchronization

/// A spawned process: its process ID and the ends of its pipes.
///
/// Not Foundation's `Process`: on Linux it may miss the exit of a program and then waits forever.
package struct Spawned {
    package var id: pid_t
    /// File descriptor that writes to the program's standard input. The owner closes it.
    package var input: Int32
    /// File descriptor that reads the program's standard output. The owner closes it.
    package var output: Int32
    /// File descriptor that reads the program's standard error, if it has no file for it. The owner closes it.
    package var errors: Int32?

    /// Locked while pipes are made and a program is spawned: otherwise a program could inherit another program's pipes and
    /// keep them open.
    private static let turn = Mutex(())

    /// Starts the program in a process group of its own: Ctrl-C signals only this process, which terminates its children.
    ///
    /// - Parameter log: A file to which standard error is appended; nil for a pipe.
    /// - Throws: `POSIXError` if it cannot be started.
    package static func start(program: String, arguments: [String], environment: [String: String], log: String?) throws -> Spawned {
        try turn.withLock { _ in
            try startInTurn(program: program, arguments: arguments, environment: environment, log: log)
        }
    }

    private static func startInTurn(
        program: String, arguments: [String], environment: [String: String], log: String?
    ) throws -> Spawned {
        var pipes: [(read: Int32, write: Int32)] = []
        do {
            for _ in 0..<(log == nil ? 3 : 2) { pipes.append(try makePipe()) }
        } catch {
            for pipe in pipes {
                close(pipe.read)
                close(pipe.write)
            }
            throw error
        }
        let (input, output, errors) = (pipes[0], pipes[1], pipes.count > 2 ? pipes[2] : nil)
        defer {
            close(input.read)
            close(output.write)
            if let errors { close(errors.write) }
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
        if let log { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
        if let errors { posix_spawn_file_actions_adddup2(&actions, errors.write, STDERR_FILENO) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        resetSignals(&attributes)

        var id: pid_t = 0
        let problem = withCStrings([program] + arguments) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                posix_spawn(&id, program, &actions, &attributes, arguments, environment)
            }
        }
        guard problem == 0 else {
            close(input.write)
            close(output.read)
            if let errors { close(errors.read) }
            throw POSIXError(POSIXErrorCode(rawValue: problem) ?? .EIO)
        }
        return Spawned(id: id, input: input.write, output: output.read, errors: errors?.read)
    }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Resets signals: threads of this process may block or ignore some, which the program would inherit.
    private static func resetSignals(_ attributes: inout posix_spawnattr_t) {
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var usual = sigset_t()
        sigemptyset(&usual)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD] { sigaddset(&usual, signal) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    }

    private static func withCStrings<Value>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value) -> Value {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }

    /// Reads to the end of the file. Blocks its thread.
    static func readAll(_ descriptor: Int32, _ take: (Data) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 { take(Data(buffer[..<count])) } else if count == 0 || errno != EINTR { return }
        }
    }

    /// Waits for the program's exit without reaping it, so that its process ID isn't reused. Blocks its thread.
    package static func waitForTheEnd(of id: pid_t) {
        var details = siginfo_t()
        while waitid(P_PID, id_t(id), &details, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// - Returns: The exit code; for a program that a signal ended 128 plus the signal's number, as in a shell.
    package static func release(_ id: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
