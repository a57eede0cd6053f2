// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Who a unit of work is done for, and how much of the processor it may take.
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
