// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The future events by virtual time. Events of the same time run in the order of their insertion.
final class Agenda: @unchecked Sendable {
    // Unchecked: used on the simulation's thread only.
    private struct Entry {
        let due: Double
        let number: Int
        let body: @Sendable () -> Void

        func comesBefore(_ other: Entry) -> Bool { (due, number) < (other.due, other.number) }
    }

    /// Seconds since the simulation began.
    private(set) var now = 0.0
    private var heap: [Entry] = []
    private var entered = 0

    func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        entered += 1
        heap.append(Entry(due: now + max(0, seconds), number: entered, body: body))
        var child = heap.count - 1
        while child > 0, heap[child].comesBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// The time of the next event. `nil` without events.
    var nextDue: Double? { heap.first?.due }

    /// Moves the time to the next event and removes it.
    func take() -> (@Sendable () -> Void)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            var parent = 0
            while true {
                let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
                guard let least = children.min(by: { heap[$0].comesBefore(heap[$1]) }), heap[least].comesBefore(heap[parent]) else { break }
                heap.swapAt(parent, least)
                parent = least
            }
        }
        now = max(now, first.due)
        return first.body
    }

    func sleep(_ seconds: Double) async throws {
        let pending = Pending<Void>()
        try await pending.wait { after(seconds) { pending.resume(with: .success(())) } }
    }
}
