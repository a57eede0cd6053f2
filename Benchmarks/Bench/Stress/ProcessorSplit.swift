// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Which processors a server and its load use. Each has its own: otherwise a growing load takes processor time from the server.
struct ProcessorSplit {
    private let server: [Int]
    private let client: Int

    /// The last processor for the client, all others for the server.
    ///
    /// - Returns: Nil on a machine with one processor, which both share.
    init?() {
        let usable = Self.usable
        guard let last = usable.last, usable.count > 1 else { return nil }
        server = Array(usable.dropLast())
        client = last
    }

    /// The command of a shell that keeps what follows on the server's processors.
    var shellCommand: String { "taskset -cp \(server.map(String.init).joined(separator: ",")) $$ > /dev/null" }

    /// Keeps this process on the client's processor.
    ///
    /// - Throws: `Program.Failure` if `taskset` is missing.
    func keepClient() throws {
        let id = ProcessInfo.processInfo.processIdentifier
        _ = try Program("/bin/sh", ["-c", "taskset -acp \(client) \(id)"], log: URL(fileURLWithPath: "/dev/null")).line()
    }

    /// Source: Linux, *proc_pid_status(5)*: `Cpus_allowed_list: 0-3,8`.
    private static var usable: [Int] {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed_list:") })
        else { return [] }
        return line.dropFirst("Cpus_allowed_list:".count).split(separator: ",").flatMap { part in
            let ends = part.split(separator: "-").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
            return ends.count == 2 && ends[0] <= ends[1] ? Array(ends[0]...ends[1]) : ends
        }
    }
}
