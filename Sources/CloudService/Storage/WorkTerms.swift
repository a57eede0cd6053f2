// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The requester of a unit of work, and its limit of processor time.
package struct WorkTerms: Hashable, Sendable {
    /// Scheduling key: an account, a server-to-server key or a network. Empty for the server itself.
    package var requester: String
    /// Milliseconds of processor time. Nil for maintenance, which has no limit.
    package var milliseconds: Int?

    /// Work that no response needs: it takes half of the processors at most, so that responses find one.
    package var isBackground: Bool

    package init(requester: String, milliseconds: Int?, isBackground: Bool = false) {
        self.requester = requester
        self.milliseconds = milliseconds
        self.isBackground = isBackground
    }

    /// Begins the scheduling key of an account, before its number.
    package static let accountPrefix = "account "

    /// The account that the work is for; nil for a server-to-server key, a network and the server itself.
    package var account: Int64? {
        requester.hasPrefix(Self.accountPrefix) ? Int64(requester.dropFirst(Self.accountPrefix.count)) : nil
    }

    /// Work of the server itself.
    package static let maintenance = WorkTerms(requester: "", milliseconds: nil)
}
