// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The listeners of one audience, in the order of their registration. Adding and removing cost the same however many there
/// are: when a network breaks, all of them are removed.
struct PushListeners {
    /// Numbers rise; a removed listener leaves an empty slot until half of the slots are empty.
    private var places: [(number: Int, mailbox: PushMailbox?)] = []
    /// Places before it are empty.
    private var start = 0
    private(set) var count = 0

    var mailboxes: [PushMailbox] { places[start...].compactMap(\.mailbox) }

    func contains(where isWanted: (PushMailbox) -> Bool) -> Bool {
        places[start...].contains { $0.mailbox.map(isWanted) == true }
    }

    /// - Parameter mailbox: Made after those that are here.
    mutating func add(_ mailbox: PushMailbox) {
        places.append((mailbox.number, mailbox))
        count += 1
    }

    mutating func remove(_ mailbox: PushMailbox) {
        var (low, high) = (start, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].number < mailbox.number { low = middle + 1 } else { high = middle }
        }
        if low < places.count, places[low].mailbox === mailbox { empty(low) }
    }

    /// Takes the oldest out, if there are more than `most`.
    mutating func takeOldest(beyond most: Int) -> PushMailbox? {
        guard count > most else { return nil }
        while places[start].mailbox == nil { start += 1 }
        defer { empty(start) }
        return places[start].mailbox
    }

    private mutating func empty(_ place: Int) {
        places[place].mailbox = nil
        count -= 1
        guard places.count > 2 * count else { return }
        places.removeAll { $0.mailbox == nil }
        start = 0
    }
}
