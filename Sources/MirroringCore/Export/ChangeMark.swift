// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The marks of pending changes. They order the queue, and a response settles only the change that has the mark of the sent item.
package enum ChangeMark {
    /// Returns the mark of a change to an item that may be in flight.
    ///
    /// The item may have the mark of the change's transaction, or a greater one: it was moved behind others, or changed twice by one scan.
    /// With an equal mark, the response to the item in flight would settle the change, and nothing would send it.
    ///
    /// - Parameters:
    ///   - known: The mark before the change; nil for a new item.
    ///   - transaction: The number of the history transaction with the change; 0 for a change of the mirror's own.
    package static func next(after known: Int64?, in transaction: Int64 = 0) -> Int64 {
        guard let known else { return transaction }
        return max(transaction, known + 1)
    }
}
