// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The group that a `records/modify` request belongs to: several requests that the server executes in one transaction, once the last of
/// them has arrived. See ``Capability/wholeSaves``.
package struct SaveGroup: Hashable, Sendable {
    /// Chosen by the client, the same for all parts.
    package var id: String
    /// The number of the request in its group, from 0.
    package var part: Int
    /// Requests of the group.
    package var parts: Int
    /// Whether nothing is saved if an operation of any part is refused.
    package var isAtomic: Bool

    package init(id: String, part: Int, parts: Int, isAtomic: Bool = true) {
        self.id = id
        self.part = part
        self.parts = parts
        self.isAtomic = isAtomic
    }

    package var isLast: Bool { part == parts - 1 }
}

/// What became of a request of a group.
package enum SaveGroupState: Hashable, Sendable {
    /// The server stored the request and executes it with the last one. The answer has no records.
    case staged
    /// The last request arrived and these did not, or expired: they have to be sent again, and then the last one. The answer has no records.
    case missing([Int])
    /// All requests were executed. The answer has the results of all, in their order.
    case saved
    /// Nothing was saved. The answer has the failures that are the reason.
    case refused
}
