// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The records that a batch deletes: those that it names, and those that refer to one of them by `DELETE_SELF`, and so on.
///
/// Each record is visited once, whichever of the named ones leads to it.
///
///     deleted a ◀── DELETE_SELF ── b ◀── DELETE_SELF ── c ◀── VALIDATE ── h
///
/// `h` stays, so it holds `c`. A record that another held one would be deleted with is held, too, up to `a`: its deletion is rejected.
///
/// Invariant: ``names`` are exactly the records that can be reached from ``roots``.
struct Cascade {
    private let batch: BatchNames
    /// Names that the batch deletes and that were not refused.
    private(set) var roots: [String] = []
    private(set) var names: Set<String> = []
    /// Records that are deleted with a record, and the other way round.
    private var followers: [String: [String]] = [:]
    private var leaders: [String: [String]] = [:]

    init(_ batch: BatchNames) { self.batch = batch }

    /// Adds a record that the batch deletes, with all that is deleted with it.
    ///
    /// - Returns: False if that would be more than `most` records, this one included and other named ones left out; then nothing is added.
    mutating func add(_ root: String, _ graph: inout ReferenceGraph, atMost most: Int) throws -> Bool {
        let isNamed = names.contains(root)
        var added = isNamed ? [] : [root]
        names.insert(root)
        var next = 0
        while next < added.count {
            let target = added[next]
            next += 1
            let sources = try graph.sources(of: target, .deleteSelf, atMost: most + 1).filter { batch.saved[$0] == nil }
            followers[target] = sources
            for source in sources {
                leaders[source, default: []].append(target)
                if names.insert(source).inserted { added.append(source) }
            }
            guard names.count - batch.deleted.count + 1 <= most else {
                names.subtract(added)
                return false
            }
        }
        roots.append(root)
        return true
    }

    /// Takes records out that another one, which stays, holds by `VALIDATE`, and those that would be deleted together with them.
    ///
    /// - Returns: The roots among them, each with the type of a record that holds it.
    mutating func removeHeld(_ graph: inout ReferenceGraph, _ limits: Limits) throws -> [(root: String, heldBy: String)] {
        /// Records of the cascade that each source refers to.
        var targets: [String: [String]] = [:]
        var held: [String: String] = [:]
        var worklist: [(name: String, heldBy: String)] = []
        let most = names.count + batch.saved.count + 1
        for name in names.sorted() {
            for source in try graph.sources(of: name, .validate, atMost: most) {
                if let saved = batch.saved[source], !saved.links.contains(ReferenceLink(target: name, action: .validate)) { continue }
                if names.contains(source) {
                    targets[source, default: []].append(name)
                } else if let record = try graph.record(source)?.record {
                    worklist.append((name, record.recordType))
                    break
                }
            }
        }
        while !worklist.isEmpty {
            while let (name, holder) = worklist.popLast() {
                guard names.contains(name), held[name] == nil else { continue }
                held[name] = holder
                for leader in leaders[name] ?? [] { worklist.append((leader, holder)) }
            }
            let reachable = reachable(from: roots.filter { held[$0] == nil })
            // Records that stay hold on to their own targets.
            for name in targets.keys.filter({ !reachable.contains($0) }).sorted() {
                let recordType = try graph.record(name)?.record.recordType ?? ""
                for target in targets.removeValue(forKey: name) ?? [] where reachable.contains(target) {
                    worklist.append((target, recordType))
                }
            }
        }
        let removed = roots.filter { held[$0] != nil }
        roots.removeAll { held[$0] != nil }
        names = reachable(from: roots)
        return removed.map { ($0, held[$0] ?? "") }
    }

    private func reachable(from roots: [String]) -> Set<String> {
        var reached = Set(roots)
        var worklist = roots
        while let name = worklist.popLast() {
            for follower in followers[name] ?? [] where reached.insert(follower).inserted { worklist.append(follower) }
        }
        return reached
    }
}
