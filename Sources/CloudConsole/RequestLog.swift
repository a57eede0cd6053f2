// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
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

    /// Notes after a number, oldest first, at most as many as are kept.
    func notes(after number: Int) -> [(number: Int, note: RequestNote)] {
        state.withLock { Array($0.notes.filter { $0.number > number }.suffix(Self.notesMax)) }
    }

    /// The notes after a number as JSON: `{"notes": [...]}`.
    func json(after number: Int) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("notes")
            writer.array(notes(after: number)) { writer, entry in
                writer.object { writer in
                    writer.member("number", entry.number)
                    entry.note.writeMembers(to: &writer)
                    writer.member("place", entry.note.place?.text)
                }
            }
        }
        return writer.bytes
    }
}
