// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// Applies the page's join records, which stand for pairs of many-to-many relationships.
///
/// Pairs don't conflict: each is a record of its own, and the lists of two devices are merged to their union without the
/// pairs that either side unlinked. The order of a list is `Ranking`'s.
struct LinkPass {
    static func run(_ work: inout ImportWorkspace) {
        for record in work.records where record.recordType == MirrorNames.linkRecordType { apply(record, &work) }
    }

    private static func apply(_ record: Record, _ work: inout ImportWorkspace) {
        guard let pair = work.mapping.pair(of: record) else { return }
        if let known = work.links[record.recordName] { return update(known, record, pair, &work) }
        work.recordsApplied += 1
        let others = work.links.ofPair(pair)
        let isEndDeleted = [pair.first, pair.second].contains { isDeleted($0, work) }
        // Linked by two devices, and unlinked here since: the pair stays unlinked.
        let isUnlinkedHere = !others.isEmpty && others.allSatisfy { !$0.isLive }
        var link = LinkState(recordName: record.recordName, pair: pair, stage: isEndDeleted || isUnlinkedHere ? .needsDelete : .uploaded)
        link.changeTag = record.recordChangeTag
        link.ranks = work.mapping.ranks(of: record, for: pair)
        if let generation = work.page.generation { link.generation = generation }
        work.links.put(link)
    }

    private static func update(_ known: LinkState, _ record: Record, _ pair: LinkPair, _ work: inout ImportWorkspace) {
        var link = known
        let isKnownVersion = link.changeTag != nil && link.changeTag == record.recordChangeTag
        let isReverted = work.isReverted(record.recordName)
        if isKnownVersion, work.page.generation == nil, !isReverted { return }
        if !isKnownVersion { work.recordsApplied += 1 }
        // A join record never changes. A foreign client that writes another pair into one unlinks the old pair.
        if link.pair != pair { work.links.touch(link.pair) }
        link.pair = pair
        link.changeTag = record.recordChangeTag
        link.ranks = work.mapping.ranks(of: record, for: pair)
        if link.stage != .needsDelete || isReverted { link.stage = .uploaded }
        if isReverted { link.failure = nil }
        if let generation = work.page.generation { link.generation = generation }
        work.links.put(link)
    }

    /// Whether an object is deleted here. A relocated one brings its links to its destination zone, and links of a merged one belong to its
    /// survivor.
    private static func isDeleted(_ name: String, _ work: ImportWorkspace) -> Bool {
        guard let state = work.objects[name], state.stage == .needsDelete, !state.isMergedHere || work.survivor(of: name) == nil
        else {
            return false
        }
        return !state.isRelocated || !work.rows.exists(state.key)
    }

    // MARK: Conclusion

    /// Returns the changes of the store's links: a pair is linked while any join record for it exists and both its objects do.
    static func conclude(_ work: inout ImportWorkspace) -> [LinkIntent] {
        if work.links.isEmpty { return [] }
        for name in work.objects.inserted { touchLinks(of: name, &work) }
        // An object that was re-keyed has the record of one that was merged here, and had no row. Its links may have arrived before.
        let rekeyed = Set(work.objects.renamed.values)
        for name in rekeyed.sorted() { touchLinks(of: name, &work) }
        var seen: Set<LinkPair> = []
        return work.links.pairsTouched.compactMap { [work] pair in seen.insert(pair).inserted ? intent(for: pair, rekeyed, work) : nil }
    }

    private static func touchLinks(of name: String, _ work: inout ImportWorkspace) {
        for link in work.links.touching(name) where link.isLive { work.links.touch(link.pair) }
    }

    private static func intent(for pair: LinkPair, _ rekeyed: Set<String>, _ work: ImportWorkspace) -> LinkIntent? {
        guard let link = work.mapping.links[pair.kind] else { return nil }
        // Re-keyed rows were linked under the old name.
        let present = pair.renamed(work.objects.renamed, isSymmetric: link.isSymmetric)
        guard let first = work.objects[present.first]?.key, let second = work.objects[present.second]?.key,
            work.rows.exists(first), work.rows.exists(second), link.accepts(first, second, in: work.mapping)
        else { return nil }
        let isNewEnd = [present.first, present.second].contains { name in
            work.objects.inserted.contains(name) || rekeyed.contains(name)
        }
        // A pair that was linked already is left as it is: this device may have unlinked it since.
        let isAddition = work.links.isLive(pair) || work.links.isLive(present),
            wasLinked = work.links.wasLive(pair) || work.links.wasLive(present)
        guard isAddition ? !wasLinked || isNewEnd : wasLinked else { return nil }
        return LinkIntent(owner: first, relationship: link.first.relationship, destination: second, isAddition: isAddition)
    }
}

/// Gives the links of one record to another one.
enum LinkMove {
    /// The names of new join records follow from the old ones, so that all devices make the same.
    static func move(from old: String, to new: String, in work: inout ImportWorkspace) {
        for link in work.links.touching(old) {
            if link.isLive { relink(link, from: old, to: new, &work) }
            if !work.deletions.contains(link.recordName) { work.links.markForDeletion(link.recordName) }
        }
    }

    private static func relink(_ link: LinkState, from old: String, to new: String, _ work: inout ImportWorkspace) {
        func end(_ name: String) -> String { name == old ? new : name }
        var (first, second) = (end(link.pair.first), end(link.pair.second))
        if work.mapping.links[link.pair.kind]?.isSymmetric == true { (first, second) = (min(first, second), max(first, second)) }
        let pair = LinkPair(kind: link.pair.kind, first: first, second: second)
        guard !work.links.isLive(pair), first != second else { return }
        var moved = LinkState(
            recordName: RecordMapping.name(from: [UInt8]("\(link.recordName) \(new)".utf8)), pair: pair, stage: .needsUpload,
            mark: link.mark)
        moved.ranks = link.ranks
        work.links.put(moved)
    }
}

extension LinkPair {
    package func renaming(_ name: String, to new: String, isSymmetric: Bool) -> LinkPair { renamed([name: new], isSymmetric: isSymmetric) }

    fileprivate func renamed(_ names: [String: String], isSymmetric: Bool) -> LinkPair {
        if names.isEmpty { return self }
        let (first, second) = (names[first] ?? first, names[second] ?? second)
        return isSymmetric
            ? LinkPair(kind: kind, first: min(first, second), second: max(first, second))
            : LinkPair(kind: kind, first: first, second: second)
    }
}

extension LinkMapping {
    /// Whether rows are of the entities that the relationship connects.
    package func accepts(_ firstKey: RowKey, _ secondKey: RowKey, in mapping: RecordMapping) -> Bool {
        mapping.model.entities[first.entity].hierarchy.contains(firstKey.entityIndex)
            && mapping.model.entities[second.entity].hierarchy.contains(secondKey.entityIndex)
    }
}
