// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Where the objects of a link stand in each other's lists.
package struct LinkRanks: Hashable, Sendable {
    /// Of the second object in the list of the first.
    package var first: String?
    /// Of the first object in the list of the second.
    package var second: String?

    package init(first: String? = nil, second: String? = nil) {
        self.first = first
        self.second = second
    }

    package var isEmpty: Bool { first == nil && second == nil }
}

extension LinkState {
    /// In the list of one of the two objects.
    package func rank(inListOf owner: String) -> Rank? { (owner == pair.first ? ranks.first : ranks.second).flatMap { Rank($0) } }

    package mutating func setRank(_ rank: Rank, inListOf owner: String) {
        if owner == pair.first { ranks.first = rank.text } else { ranks.second = rank.text }
    }

    /// Returns the link of a pair that has the valid positions. Two devices that moved the same pair made one each.
    package static func decisive(_ links: [LinkState], inListOf owner: String) -> LinkState? {
        links.filter(\.isLive).max { one, other in
            let isRanked = one.rank(inListOf: owner) != nil, isOtherRanked = other.rank(inListOf: owner) != nil
            return isRanked == isOtherRanked ? one.recordName < other.recordName : isOtherRanked
        }
    }

    /// Returns the links that give a pair another position. Join records are immutable: the pair gets another one, unless its link is of the
    /// same scan, and was not sent yet.
    ///
    /// - Parameters:
    ///   - links: Those of one pair.
    ///   - mark: The transaction of the scan.
    /// - Returns: The links to be written; none without a live link.
    package static func changes(
        _ links: [LinkState], to rank: Rank, inListOf owner: String, mark: Int64, makeName: () -> String
    ) -> [LinkState] {
        let links = links.filter(\.isLive)
        guard var link = decisive(links, inListOf: owner) else { return [] }
        var changed: [LinkState] = []
        if link.changeTag != nil || link.mark != mark || link.stage != .needsUpload || link.rank(inListOf: owner) != nil {
            for var old in links {
                old.stage = .needsDelete
                old.mark = mark
                old.failure = nil
                changed.append(old)
            }
            let ranks = link.ranks
            link = LinkState(recordName: makeName(), pair: link.pair, stage: .needsUpload, mark: mark)
            link.ranks = ranks
        }
        link.setRank(rank, inListOf: owner)
        return changed + [link]
    }
}

extension RecordMapping {
    /// Two ranks in one text, in the order of the record's names.
    static func field(of ranks: LinkRanks) -> Field? {
        ranks.isEmpty ? nil : Field(.string("\(ranks.first ?? ""):\(ranks.second ?? "")"))
    }

    /// - Parameter pair: The linked pair. Its order may differ from the order of the record's names.
    func ranks(of record: Record, for pair: LinkPair) -> LinkRanks {
        guard case .string(let text)? = record.fields[MirrorNames.linkRanks]?.value else { return LinkRanks() }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Rank(String($0))?.text }
        guard parts.count == 2, case .string(let names)? = record.fields[MirrorNames.linkRecordNames]?.value else { return LinkRanks() }
        let isSwapped = pair.first != pair.second && !names.hasPrefix(pair.first)
        return isSwapped ? LinkRanks(first: parts[1], second: parts[0]) : LinkRanks(first: parts[0], second: parts[1])
    }
}
