// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The order of a to-many relationship as position keys of its members, which merge: every device sorts equal ranks alike, in any order of
/// arrival.
package enum Ranking {
    package struct Member: Hashable, Sendable {
        /// The member's record name, which decides between equal ranks of two devices.
        package var name: String
        /// nil for a member without a rank, which stands behind all ranked ones.
        package var rank: Rank?

        package init(name: String, rank: Rank?) {
            self.name = name
            self.rank = rank
        }
    }

    /// - Returns: Indices of members in the order that their ranks say.
    package static func order(of members: [Member]) -> [Int] {
        members.indices.sorted { one, other in
            switch (members[one].rank, members[other].rank) {
            case (let rank?, let otherRank?) where rank != otherRank: rank < otherRank
            case (nil, .some): false
            case (.some, nil): true
            default: members[one].name < members[other].name
            }
        }
    }

    /// New ranks for as few members as possible, so that ranks say the order in which the members stand.
    ///
    /// - Parameter members: In their order.
    /// - Returns: By index.
    package static func changes(_ members: [Member]) -> [Int: Rank] {
        let kept = longestRise(members)
        if kept.count == members.count { return [:] }
        var changes: [Int: Rank] = [:]
        var previous: Int?
        for next in kept.map(Optional.some) + [nil] {
            let gap = (previous.map { $0 + 1 } ?? 0)..<(next ?? members.count)
            if !gap.isEmpty {
                let ranks = Rank.run(
                    of: gap.count, after: previous.flatMap { members[$0].rank }, before: next.flatMap { members[$0].rank },
                    seed: members[gap.lowerBound].name)
                for (index, rank) in zip(gap, ranks) { changes[index] = rank }
            }
            previous = next
        }
        guard changes.values.contains(where: { $0.text.utf8.count > Rank.lengthMax }) else { return changes }
        // After very many insertions at one position, all members get short ranks again.
        let fresh = Rank.run(of: members.count, after: nil, before: nil, seed: members[0].name)
        return Dictionary(uniqueKeysWithValues: zip(members.indices, fresh))
    }

    /// Indices of the longest subsequence of members with rising ranks.
    private static func longestRise(_ members: [Member]) -> [Int] {
        // At each length the member with the smallest rank that ends a rise of this length.
        var ends: [Int] = []
        var before: [Int?] = Array(repeating: nil, count: members.count)
        for (index, member) in members.enumerated() {
            guard let rank = member.rank else { continue }
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if let end = members[ends[middle]].rank, end < rank { low = middle + 1 } else { high = middle }
            }
            before[index] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var rise: [Int] = []
        var next = ends.last
        while let index = next {
            rise.append(index)
            next = before[index]
        }
        return rise.reversed()
    }
}

extension RecordState {
    /// Returns `true` if a member of a list with this record may get a new position key.
    ///
    /// A record that the server lacks is not sent, but a join record with that member is. The object may return: another device may have
    /// created an equal one, which has the record name.
    ///
    /// - Parameter isInJoinRecord: Whether the join record has the position key, and not the record of the member.
    package func takesPositionKey(isInJoinRecord: Bool) -> Bool {
        switch stage {
        case .uploaded, .needsUpload: true
        case .missing: isInJoinRecord
        case .needsDelete: false
        }
    }
}
