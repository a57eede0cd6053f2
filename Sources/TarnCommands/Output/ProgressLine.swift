// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// The progress of a long operation: a line on standard error that is updated in place, on a terminal only.
final class ProgressLine: Sendable {
    private struct State {
        var isShown = false
        var lastUpdate: ContinuousClock.Instant?
    }

    /// Time between two updates.
    private static let interval = Duration.milliseconds(100)

    private let isEnabled: Bool
    private let write: @Sendable (String) -> Void
    private let state = Mutex(State())

    convenience init() {
        self.init(isEnabled: isatty(STDERR_FILENO) != 0) { FileHandle.standardError.write(Data($0.utf8)) }
    }

    init(isEnabled: Bool, write: @escaping @Sendable (String) -> Void) {
        self.isEnabled = isEnabled
        self.write = write
    }

    /// - Parameter total: Nil where it is unknown.
    func show(_ verb: String, _ count: Int, of total: Int?, _ noun: String, at now: ContinuousClock.Instant = .now) {
        guard isEnabled else { return }
        let isDue = state.withLock { state in
            if let last = state.lastUpdate, now - last < Self.interval { return false }
            (state.lastUpdate, state.isShown) = (now, true)
            return true
        }
        guard isDue else { return }
        let share = total.map { " of \($0)" } ?? ""
        let percent = total.flatMap { $0 > 0 ? " (\(min(100, count * 100 / $0)) %)" : nil } ?? ""
        write("\r\u{1B}[K\(verb) \(count)\(share) \(noun)\(percent)")
    }

    /// Removes the line. Later output begins at the margin.
    func end() {
        let wasShown = state.withLock { state in
            defer { state.isShown = false }
            return state.isShown
        }
        if wasShown { write("\r\u{1B}[K") }
    }
}
