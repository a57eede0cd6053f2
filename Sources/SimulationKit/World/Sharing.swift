// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// State of sharing in a run: the owner's shares, which one guest may edit and another may read.
struct Sharing: Sendable {
    /// One share of the owner's.
    struct Share: Sendable {
        /// Address of the invitation; nil before the owner has shared something.
        var url: URL?
        /// Name of the share's zone; nil as long as `url` is.
        var zone: String?
        /// Users that have accepted.
        var joined: Set<String> = []
    }

    /// How many shares there are in runs with `severalShares`.
    static let groups = 3

    var shares: [Share]
    /// Virtual time after which failed requests are not retried.
    var until = Double.infinity
    /// Users that left a share, or were removed: their unsent changes stay local.
    var leavers: Set<String> = []
    /// What their conflict logs held then: the target of a lost reference is removed with the share.
    var leftLogs: Set<String> = []
    /// Devices on which something was deleted, or unlinked.
    var dividers: Set<String> = []
    /// Saves of a participant with read-only access.
    var refused: [(edit: Edit, device: String, version: Int)] = []

    init(_ features: Set<Feature>) { shares = Array(repeating: Share(), count: features.contains(.severalShares) ? Self.groups : 1) }

    /// End of the labels of objects that only share number `group` holds.
    static func suffix(ofGroup group: Int) -> String { "~\(group)" }

    /// The number of the share that may hold an object, from its label; nil in runs with a single share.
    static func group(of label: String) -> Int? {
        guard let mark = label.lastIndex(of: "~") else { return nil }
        return Int(label[label.index(after: mark)...])
    }

    func hasJoined(_ user: String) -> Bool { shares.contains { $0.joined.contains(user) } }

    /// A restored server has the shares of its backup, and the participants of that time.
    ///
    /// - Returns: The numbers of shares that are lost.
    mutating func revert(to backup: [Share]) -> [Int] {
        defer { shares = backup }
        return shares.indices.filter { shares[$0].url != nil && backup[$0].url == nil }
    }

    /// Zones of the shares that a user has accepted, or of all shares.
    func zones(joinedBy user: String? = nil) -> Set<String> {
        Set(shares.filter { share in user.map(share.joined.contains) ?? true }.compactMap(\.zone))
    }
}
