// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Synchronization

/// The last requests, for the console.
final class RequestLog: Sendable {
    static let notesMax = 500

    private struct State {
        var notes: [(number: Int, note: RequestNote)] = []
        var last = 0
    }

    private let state = Mutex(State())

    func add(_ note: RequestNote) {
        state.withLock { state in
            state.last += 1
            state.notes.append((state.last, note))
            if state.notes.count > 2 * Self.notesMax { state.notes.removeFirst(state.notes.count - Self.notesMax) }
        }
    }

    /// Notes after a number, oldest first, at most as many as are kept. A number that no note has yet is one of a server before: then all.
    func notes(after number: Int) -> [(number: Int, note: RequestNote)] {
        state.withLock { state in
            let first = number > state.last ? 0 : number
            return Array(state.notes.filter { $0.number > first }.suffix(Self.notesMax))
        }
    }

    func contains(_ requestUUID: String) -> Bool { state.withLock { $0.notes.contains { $0.note.requestUUID == requestUUID } } }
}
