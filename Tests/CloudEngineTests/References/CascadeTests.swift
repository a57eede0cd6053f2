// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import EngineFixtures
import Testing

/// Batches of saves and deletions over random graphs of references, compared with a model that looks at everything again after each refusal.
@Suite(.timeLimit(.minutes(3))) struct CascadeTests {
    struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    typealias Links = Set<Link>

    struct Link: Hashable {
        var target: String
        var action: RecordReference.Action
    }

    struct Model {
        var records: [String: Links] = [:]

        enum Operation { case save(String, Links), delete(String) }

        /// Which operations are carried out, and the records afterwards.
        mutating func carryOut(_ operations: [Operation]) -> [Bool] {
            var isAccepted = operations.map { operation in if case .delete(let name) = operation { records[name] != nil } else { true } }
            var gone: Set<String> = []
            while true {
                var saved: [String: Links] = [:]
                var deleted: Set<String> = []
                for (operation, isAccepted) in zip(operations, isAccepted) where isAccepted {
                    switch operation {
                    case .save(let name, let links): saved[name] = links
                    case .delete(let name): deleted.insert(name)
                    }
                }
                gone = closure(of: deleted, saved)
                let refused = operations.indices.filter { index in
                    guard isAccepted[index], case .save(let name, let links) = operations[index] else { return false }
                    return links.subtracting(records[name] ?? []).contains { link in
                        link.action == .validate && saved[link.target] == nil
                            && (deleted.contains(link.target) || records[link.target] == nil)
                    }
                }
                for index in refused { isAccepted[index] = false }
                if !refused.isEmpty { continue }
                let held = operations.indices.filter { index in
                    guard isAccepted[index], case .delete(let name) = operations[index] else { return false }
                    let own = closure(of: [name], saved)
                    return records.contains { source, links in
                        !gone.contains(source)
                            && links.contains { link in
                                link.action == .validate && own.contains(link.target) && saved[source]?.contains(link) != false
                            }
                    }
                }
                for index in held { isAccepted[index] = false }
                if !held.isEmpty { continue }
                // No stored record refers to the target, which is deleted with another one.
                let broken = saved.filter { _, links in links.contains { $0.action == .validate && gone.contains($0.target) } }.keys
                let late = savesWithDeletedTargets(saved, deleted, &gone).union(broken)
                for index in operations.indices {
                    if case .save(let name, _) = operations[index], late.contains(name) { isAccepted[index] = false }
                }
                guard late.isEmpty else { continue }
                for (name, links) in saved { records[name] = links }
                for name in gone { records[name] = nil }
                return isAccepted
            }
        }

        /// Saves that refer by `DELETE_SELF` to records that are deleted, those included that are deleted since such a save is rejected.
        private func savesWithDeletedTargets(_ saved: [String: Links], _ deleted: Set<String>, _ gone: inout Set<String>) -> Set<String> {
            var remaining = saved
            while true {
                let rejected = remaining.filter { _, links in links.contains { $0.action == .deleteSelf && gone.contains($0.target) } }.keys
                guard !rejected.isEmpty else { return Set(saved.keys).subtracting(remaining.keys) }
                for name in rejected { remaining[name] = nil }
                gone = closure(of: deleted, remaining)
            }
        }

        private func closure(of names: Set<String>, _ saved: [String: Links]) -> Set<String> {
            var gone = names
            var open = Array(names)
            while let target = open.popLast() {
                for (source, links) in records
                where saved[source] == nil && links.contains(Link(target: target, action: .deleteSelf)) && gone.insert(source).inserted {
                    open.append(source)
                }
            }
            return gone
        }
    }

    private func record(_ name: String, _ links: Links) -> Record {
        let references = links.sorted { ($0.target, $0.action.rawValue) < ($1.target, $1.action.rawValue) }
            .map { FieldValue.reference(RecordReference(recordName: $0.target, action: $0.action)) }
        return .plant(name, ["links": .list(references, of: .reference)])
    }

    /// Fails also if a save is accepted whose `DELETE_SELF` target the batch deletes, or whose `VALIDATE` target it deletes with another record,
    /// in any order of the two.
    @Test(arguments: 1...12)
    func aBatchComesToWhatTheModelSays(_ seed: Int) async throws {
        var random = Random(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        let bench = try await Bench.withGarden()
        var model = Model()
        let names = (0..<9).map { "r\($0)" }
        for step in 0..<60 {
            var operations: [Model.Operation] = []
            for name in names.shuffled(using: &random).prefix(Int.random(in: 1...6, using: &random)) {
                guard Int.random(in: 0..<3, using: &random) > 0 else {
                    operations.append(.delete(name))
                    continue
                }
                let links = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                    Link(target: names.randomElement(using: &random) ?? "r0", action: Bool.random(using: &random) ? .validate : .deleteSelf)
                }
                operations.append(.save(name, Set(links)))
            }
            let requests = operations.map { operation -> RecordOperation in
                switch operation {
                case .save(let name, let links): .init(.forceReplace, record(name, links))
                case .delete(let name): .init(.delete, .plant(name))
                }
            }
            let before = model.records
            let expected = model.carryOut(operations)
            let results = try await bench.modify(requests, atomic: false)
            let accepted = results.map { if case .failure = $0 { false } else { true } }
            try #require(accepted == expected, "seed \(seed), step \(step): \(operations) over \(before)")
            for name in names {
                let isThere = try await bench.lookup(name)[0].record != nil
                try #require(isThere == (model.records[name] != nil), "seed \(seed), step \(step), \(name): \(operations) over \(before)")
            }
        }
    }

    /// 200 deletions lead to the same 2,000 records, next to a chain of 200 saves of which the last refers to nothing. Walked for each
    /// deletion again after each refusal this would be 80 million steps.
    @Test func aCascadeIsWalkedOnce() async throws {
        let bench = try await Bench.withGarden()
        var root = Record.plant("root")
        root.fields["links"] = Field(
            .list((0..<200).map { .reference(RecordReference(recordName: "x\($0)", action: .deleteSelf)) }, of: .reference))
        for number in 0..<200 { try await bench.modify(.init(.create, .plant("x\(number)"))) }
        try await bench.modify(.init(.create, root))
        for start in stride(from: 0, to: 2000, by: 400) {
            // A record is the target of 750 references at most, so the leaves form four layers.
            let leaves = (start..<start + 400).map { number -> RecordOperation in
                .init(.create, .plant("leaf\(number)", .deleteSelf, to: number < 400 ? "root" : "leaf\(number - 400)"))
            }
            #expect(try await bench.modify(leaves).allSatisfy { $0.word == "saved" })
        }
        let deletions = (0..<200).map { RecordOperation(.forceDelete, .plant("x\($0)")) }
        let chain = (0..<200).map { RecordOperation(.create, .plant("c\($0)", .validate, to: "c\($0 + 1)")) }
        let results = try await bench.modify(deletions + chain, atomic: false)
        #expect(results.prefix(200).allSatisfy { $0.word == "deleted" })
        #expect(results.suffix(200).allSatisfy { $0.word == "VALIDATING_REFERENCE_ERROR" })
        #expect(try await bench.lookup("root", "leaf0", "leaf1999").map(\.word) == ["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"])
    }
}
