// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Join records while a page is planned: as loaded, with the changes so far.
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

    /// Whether there are no join records, and were none.
    var isEmpty: Bool { byPair.isEmpty && pairsTouched.isEmpty }

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

    /// - Returns: Whether the join record was known.
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
        if touched.isEmpty { return [] }
        var seen = DistinctValues<String>()
        return touched.compactMap { seen.insert($0) ? links[$0] : nil }
    }
}
