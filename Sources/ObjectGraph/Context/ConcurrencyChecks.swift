// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// What happens when a context, or an object of it, is used off the context's queue.
public enum ConcurrencyChecks: Int, Sendable {
    /// Nothing is checked, as on Apple's platforms unless a process asks for it. Two threads that use one context at the
    /// same time race.
    case ignore = 0
    /// Writes a line to standard error, the first 100 times.
    case log = 1
    /// Writes the line and ends the process, in release builds too.
    case trap = 2
}

extension NSManagedObjectContext {
    /// What happens in this process when a context or an object is used off the context's queue.
    ///
    /// The value at launch is, in this order: the environment variable `TARN_CONCURRENCY_DEBUG` (`ignore`, `log` or
    /// `trap`), the argument `-com.apple.CoreData.ConcurrencyDebug 1` (``ConcurrencyChecks/trap``), else
    /// ``ConcurrencyChecks/ignore``.
    ///
    /// Tarn's own, but for the argument.
    public static var concurrencyChecks: ConcurrencyChecks {
        get { ConcurrencyChecks(rawValue: ConcurrencySetting.current.load(ordering: .relaxed)) ?? .ignore }
        set { ConcurrencySetting.current.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Checks that the caller is on the context's queue, if the process asked for that.
    @inline(__always)
    func preconditionIsCurrent() {
        if ConcurrencySetting.current.load(ordering: .relaxed) != 0, !queue.isCurrent { reportUseOffQueue() }
    }

    @inline(never)
    private func reportUseOffQueue() {
        let checks = Self.concurrencyChecks
        guard checks != .ignore, !isConfined else { return }
        let context = name.map { "the context '\($0)'" } ?? "a context"
        let kind = concurrencyType == .mainQueueConcurrencyType ? "main" : "private"
        let sentence = "\(context.prefix(1).uppercased())\(context.dropFirst()) or one of its objects was used off the context's \(kind) queue; wrap the call in perform or performAndWait."
        if checks == .trap || ConcurrencySetting.reports.add(1, ordering: .relaxed).oldValue < ConcurrencySetting.reportsMax {
            FileHandle.standardError.write(Data("CoreData: \(sentence)\n".utf8))
        }
        if checks == .trap { preconditionFailure(sentence) }
    }
}

enum ConcurrencySetting {
    static let current = Atomic<Int>(atLaunch(ProcessInfo.processInfo.environment, CommandLine.arguments).rawValue)
    static let reports = Atomic<Int>(0)
    static let reportsMax = 100

    /// Reads the setting from what a process is launched with.
    static func atLaunch(_ environment: [String: String], _ arguments: [String]) -> ConcurrencyChecks {
        switch environment["TARN_CONCURRENCY_DEBUG"]?.lowercased() {
        case "trap", "1": return .trap
        case "log": return .log
        case "ignore", "0": return .ignore
        default: break
        }
        guard let position = arguments.firstIndex(of: "-com.apple.CoreData.ConcurrencyDebug") else { return .ignore }
        let value = arguments[(position + 1)...].first.flatMap(Int.init) ?? 0
        return value > 0 ? .trap : .ignore
    }
}
