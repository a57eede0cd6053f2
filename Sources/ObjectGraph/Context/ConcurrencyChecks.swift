// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// The response to a use of a context, or of one of its objects, off the context's queue.
public enum ConcurrencyChecks: Int, Sendable {
    /// No check, as on Apple's platforms by default. Two threads that use one context concurrently race.
    case ignore = 0
    /// Writes a line to standard error, the first 100 times.
    case log = 1
    /// Writes the line and ends the process, in release builds too.
    case trap = 2
}

extension NSManagedObjectContext {
    /// The response in this process to a use of a context or an object off the context's queue.
    ///
    /// The initial value comes from the first of these that is set: the environment variable `TARN_CONCURRENCY_DEBUG`
    /// (`ignore`, `log` or `trap`), the argument `-com.apple.CoreData.ConcurrencyDebug 1` (``ConcurrencyChecks/trap``),
    /// else ``ConcurrencyChecks/ignore``.
    ///
    /// Tarn's own, except for the argument.
    public static var concurrencyChecks: ConcurrencyChecks {
        get { ConcurrencyChecks(rawValue: ConcurrencySetting.current.load(ordering: .relaxed)) ?? .ignore }
        set { ConcurrencySetting.current.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Checks that the caller is on the context's queue, if the process enabled the check.
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
        let sentence =
            "\(context.prefix(1).uppercased())\(context.dropFirst()) or one of its objects was used off the context's \(kind) queue; wrap the call in perform or performAndWait."
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

    /// Reads the setting from the environment and the arguments of a process.
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
