// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The requester of a unit of work, and its limit of processor time.
package struct WorkTerms: Hashable, Sendable {
    /// Scheduling key: an account, a server-to-server key or a network. Empty for the server itself.
    package var requester: String
    /// Milliseconds of processor time. Nil for maintenance, which has no limit.
    package var milliseconds: Int?

    package init(requester: String, milliseconds: Int?) {
        self.requester = requester
        self.milliseconds = milliseconds
    }

    /// Work of the server itself.
    package static let maintenance = WorkTerms(requester: "", milliseconds: nil)
}
