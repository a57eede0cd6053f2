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

    /// The smallest quota of the process's control group and those above it, of both versions. A part of a processor counts as one.
    private static func quota() -> Int? {
        let groups = text(of: "/proc/self/cgroup") ?? ""
        let second = folders(of: group(in: groups, controller: "")).map { text(of: "/sys/fs/cgroup\($0)/cpu.max") }
        let first = folders(of: group(in: groups, controller: "cpu")).map { folder -> String? in
            let path = "/sys/fs/cgroup/cpu\(folder)/cpu.cfs_"
            guard let time = text(of: path + "quota_us"), let period = text(of: path + "period_us") else { return nil }
            return time + period
        }
        return (second + first).compactMap { $0.flatMap(quota) }.min()
    }

    /// The path of the control group of a controller of version 1; without a name, of version 2.
    ///
    /// Source: cgroups(7), `/proc/PID/cgroup`: the hierarchy's number, its controllers, and the path.
    static func group(in text: String, controller: String) -> String {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            if parts.count == 3, parts[1].split(separator: ",", omittingEmptySubsequences: false).contains(controller[...]) {
                return String(parts[2])
            }
        }
        return "/"
    }

    /// Of `/a/b`, the root's folder, `/a` and `/a/b`. A container often shows its own group as the root.
    static func folders(of group: String) -> [String] {
        var folders = [""]
        for name in group.split(separator: "/") where name != ".." { folders.append("\(folders[folders.count - 1])/\(name)") }
        return folders
    }

    /// The processors of microseconds of time in each period. Without a quota, the time is `max`, or -1 in version 1.
    ///
    /// Source: the kernel's *Control Group v2*, `cpu.max`; *CFS Bandwidth Control*, `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
    static func quota(in text: String) -> Int? {
        let numbers = text.split { $0 == " " || $0 == "\n" }.map { Int($0) }
        guard numbers.count == 2, let time = numbers[0], let period = numbers[1], time > 0, period > 0 else { return nil }
        return time / period + (time % period == 0 ? 0 : 1)
    }

    private static func text(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
