// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The group of a `records/modify` request: several requests that the server executes in one transaction, once the last
/// of them has arrived. See ``Capability/wholeSaves``.
package struct SaveGroup: Hashable, Sendable {
    /// Chosen by the client, the same for all parts.
    package var id: String
    /// The number of the request in its group, from 0.
    package var part: Int
    /// Number of requests of the group.
    package var parts: Int
    /// Whether nothing is saved if an operation of any part is rejected.
    package var isAtomic: Bool

    package init(id: String, part: Int, parts: Int, isAtomic: Bool = true) {
        self.id = id
        self.part = part
        self.parts = parts
        self.isAtomic = isAtomic
    }

    /// Also of numbers that no check has seen: the smallest has no predecessor.
    package var isLast: Bool { parts > 0 && part == parts - 1 }
}

/// The state of a request of a group.
package enum SaveGroupState: Hashable, Sendable {
    /// The server stored the request and executes it with the last one. The response has no records.
    case staged
    /// The last request arrived, and these did not or have expired: send them again, and then the last one. The
    /// response has no records.
    case missing([Int])
    /// All requests were executed. The response has the results of all, in order.
    case saved
    /// Nothing was saved. The response has the failures that are the reason.
    case refused
}
