// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The processors that this process may use.
package enum Processors {
    /// At least 1, and at most as many as `taskset`, a cpuset or a quota of the control group allows. Read once.
    package static let count: Int = {
        let system = ProcessInfo.processInfo.activeProcessorCount
        let mask = text(of: "/proc/self/status").flatMap(allowed) ?? .max
        return max(1, min(system, mask, quota() ?? .max))
    }()

    /// Counts the processors in the mask of a process's status.
    ///
    /// Source: proc(5), `Cpus_allowed`: hexadecimal digits in groups, separated by commas.
    static func allowed(in status: String) -> Int? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed:") }) else { return nil }
        let digits = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
        return digits.isEmpty ? nil : digits.reduce(0) { $0 + $1.nonzeroBitCount }
    }

    /// The smallest quota of the process's control group and those above it. A part of a processor counts as one.
    private static func quota() -> Int? {
        let group = text(of: "/proc/self/cgroup").flatMap(group) ?? "/"
        return folders(of: group).compactMap { text(of: "/sys/fs/cgroup\($0)/cpu.max").flatMap(quota) }.min()
    }

    /// The path of the control group of version 2.
    ///
    /// Source: cgroups(7), `/proc/PID/cgroup`.
    static func group(in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix("0::/") }.map { String($0.dropFirst("0::".count)) }
    }

    /// `/a/b` has the folders ``, `/a` and `/a/b`. A container often shows the process's own group as the first one.
    static func folders(of group: String) -> [String] {
        var folders = [""]
        for name in group.split(separator: "/") where name != ".." { folders.append("\(folders[folders.count - 1])/\(name)") }
        return folders
    }

    /// Source: the kernel's *Control Group v2*, `cpu.max`: microseconds of time in each period, or `max`.
    static func quota(in text: String) -> Int? {
        let numbers = text.split { $0 == " " || $0 == "\n" }.map { Int($0) }
        guard numbers.count == 2, let time = numbers[0], let period = numbers[1], time > 0, period > 0 else { return nil }
        return time / period + (time % period == 0 ? 0 : 1)
    }

    private static func text(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
