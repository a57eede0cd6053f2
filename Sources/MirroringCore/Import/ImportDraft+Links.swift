// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// Link records as they were before the page and as they are after it.
struct LinkLedger {
    private let before: [String: LinkState]
    private var links: [String: LinkState]
    private var byPair: [LinkPair: [String]] = [:]
    private var byEnd: [String: [String]] = [:]
    private var touched: [String] = []
    private(set) var removed: [String] = []
    private(set) var pairsTouched: [LinkPair] = []

    init(_ loaded: [LinkState]) {
        before = Dictionary(loaded.map { ($0.recordName, $0) }, uniquingKeysWith: { first, _ in first })
        links = before
        for link in before.values.sorted(by: { $0.recordName < $1.recordName }) { index(link) }
    }

    private mutating func index(_ link: LinkState) {
        byPair[link.pair, default: []].append(link.recordName)
        byEnd[link.pair.first, default: []].append(link.recordName)
        if link.pair.second != link.pair.first { byEnd[link.pair.second, default: []].append(link.recordName) }
    }

    subscript(name: String) -> LinkState? { links[name] }

    func touching(_ name: String) -> [LinkState] { (byEnd[name] ?? []).compactMap { links[$0] } }
    func ofPair(_ pair: LinkPair) -> [LinkState] { (byPair[pair] ?? []).compactMap { links[$0] } }
    func wasLive(_ pair: LinkPair) -> Bool { (byPair[pair] ?? []).contains { before[$0]?.pair == pair && before[$0]?.isLive == true } }
    func isLive(_ pair: LinkPair) -> Bool { ofPair(pair).contains { $0.pair == pair && $0.isLive } }

    mutating func put(_ link: LinkState) {
        if links[link.recordName]?.pair != link.pair { index(link) }
        links[link.recordName] = link
        touched.append(link.recordName)
        pairsTouched.append(link.pair)
    }

    /// - Returns: Whether there was such a link.
    mutating func remove(_ name: String) -> Bool {
        guard let link = links.removeValue(forKey: name) else { return false }
        removed.append(name)
        pairsTouched.append(link.pair)
        return true
    }

    mutating func markForDeletion(_ name: String) {
        guard var link = links[name], link.stage != .needsDelete else { return }
        link.stage = .needsDelete
        link.failure = nil
        put(link)
    }

    mutating func touch(_ pair: LinkPair) { pairsTouched.append(pair) }

    var changed: [LinkState] {
        var seen: Set<String> = []
        return touched.compactMap { seen.insert($0).inserted ? links[$0] : nil }
    }
}

extension ImportDraft {
    mutating func applyLink(_ record: Record) {
        guard let pair = mapping.pair(of: record) else { return }
        if var known = links[record.recordName] {
            let isKnownVersion = known.changeTag != nil && known.changeTag == record.recordChangeTag
            let isReverted = page.reverted[record.recordName] != nil
            if isKnownVersion, page.generation == nil, !isReverted { return }
            if !isKnownVersion { recordsApplied += 1 }
            // A link never changes; a foreign client that writes another pair into one takes the old pair apart.
            if known.pair != pair { links.touch(known.pair) }
            known.pair = pair
            known.changeTag = record.recordChangeTag
            known.ranks = mapping.ranks(of: record, for: pair)
            if known.stage != .needsDelete || isReverted { known.stage = .uploaded }
            if isReverted { known.failure = nil }
            if let generation = page.generation { known.generation = generation }
            return links.put(known)
        }
        recordsApplied += 1
        let others = links.ofPair(pair)
        let isEndGoing = [pair.first, pair.second].contains { isGoing($0) }
        // Linked by two devices, and unlinked here since: what this device took apart stays apart.
        let isUnlinkedHere = !others.isEmpty && others.allSatisfy { !$0.isLive }
        var link = LinkState(recordName: record.recordName, pair: pair, stage: isEndGoing || isUnlinkedHere ? .needsDelete : .uploaded)
        link.changeTag = record.recordChangeTag
        link.ranks = mapping.ranks(of: record, for: pair)
        if let generation = page.generation { link.generation = generation }
        links.put(link)
    }

    /// Whether an object is deleted here; one that has moved to another zone takes its links along, and what is linked with one that was
    /// merged is to be linked with what that was merged into.
    private func isGoing(_ name: String) -> Bool {
        guard let state = states[name], state.stage == .needsDelete, !isMergedHere(state) || successor(of: name) == nil else { return false }
        return !state.isMovedOut || !rows.exists(state.key)
    }

    /// A pair is linked while any record for it exists and both its objects do.
    mutating func settleLinks() {
        for name in inserted { for link in links.touching(name) where link.isLive { links.touch(link.pair) } }
        var seen: Set<LinkPair> = []
        for pair in links.pairsTouched where seen.insert(pair).inserted {
            guard let link = mapping.links[pair.kind] else { continue }
            // Rows that go on as another record are those that were linked under the old name.
            let now = pair.renamed(renamed, isSymmetric: link.isSymmetric)
            guard let first = states[now.first]?.key, let second = states[now.second]?.key,
                rows.exists(first), rows.exists(second), link.accepts(first, second, in: mapping)
            else { continue }
            let isNewEnd = inserted.contains(now.first) || inserted.contains(now.second)
            // A pair that was linked already is left as it is: this device may have taken it apart since.
            let isAddition = links.isLive(pair) || links.isLive(now), wasLinked = links.wasLive(pair) || links.wasLive(now)
            guard isAddition ? !wasLinked || isNewEnd : wasLinked else { continue }
            linkIntents.append(
                LinkIntent(owner: first, relationship: link.first.relationship, destination: second, isAddition: isAddition))
        }
    }
}

extension LinkPair {
    package func renaming(_ name: String, to new: String, isSymmetric: Bool) -> LinkPair { renamed([name: new], isSymmetric: isSymmetric) }

    fileprivate func renamed(_ names: [String: String], isSymmetric: Bool) -> LinkPair {
        if names.isEmpty { return self }
        let (first, second) = (names[first] ?? first, names[second] ?? second)
        return isSymmetric ? LinkPair(kind: kind, first: min(first, second), second: max(first, second)) : LinkPair(kind: kind, first: first, second: second)
    }
}

extension LinkMapping {
    /// Whether rows are of the entities that the relationship connects.
    package func accepts(_ firstKey: RowKey, _ secondKey: RowKey, in mapping: RecordMapping) -> Bool {
        mapping.model.entities[first.entity].hierarchy.contains(firstKey.entityIndex)
            && mapping.model.entities[second.entity].hierarchy.contains(secondKey.entityIndex)
    }
}
