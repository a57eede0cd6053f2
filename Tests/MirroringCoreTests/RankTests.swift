// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Ranks of ordered relationships, alone.
@Suite struct RankTests {
    /// A list as two devices see it: names in order, and the ranks that travel.
    private struct List {
        var names: [String] = []
        var ranks: [String: Rank] = [:]

        var members: [Ranking.Member] { names.map { Ranking.Member(name: $0, rank: ranks[$0]) } }

        /// - Returns: How many members got another rank.
        @discardableResult
        mutating func rank() -> Int {
            let changes = Ranking.changes(members)
            for (index, rank) in changes { ranks[names[index]] = rank }
            return changes.count
        }

        mutating func sort() {
            let order = Ranking.order(of: members).map { names[$0] }
            names = order
        }

        var isInOrder: Bool {
            zip(names, names.dropFirst()).allSatisfy { one, other in
                guard let rank = ranks[one], let next = ranks[other] else { return false }
                return rank < next
            }
        }
    }

    private func list(_ names: [String]) -> List {
        var list = List(names: names)
        list.rank()
        return list
    }

    @Test func aNewListIsAssignedPositionKeysInItsOrder() {
        let list = list((0..<500).map { "n\($0)" })
        #expect(list.isInOrder)
        #expect(Set(list.ranks.values).count == 500)
        #expect(list.ranks.values.allSatisfy { Rank($0.text) == $0 && $0.text.utf8.count < 16 })
    }

    @Test func aMoveChangesThePositionKeyOfOneMember() {
        var list = list((0..<50).map { "n\($0)" })
        for (from, to) in [(3, 40), (49, 0), (20, 21), (0, 49)] {
            list.names.insert(list.names.remove(at: from), at: to)
            #expect(list.rank() == 1)
            #expect(list.isInOrder)
        }
    }

    @Test func insertionsAtTheEndsDoNotLengthenPositionKeys() {
        var list = list(["middle"])
        for number in 0..<400 {
            list.names.append("last \(number)")
            #expect(list.rank() == 1)
            list.names.insert("first \(number)", at: 0)
            #expect(list.rank() == 1)
        }
        #expect(list.isInOrder)
        #expect(list.ranks.values.allSatisfy { $0.text.utf8.count < 12 })
    }

    /// Two digits come closer to each other with each insertion, until everybody gets a short rank again.
    @Test func manyInsertionsAtOneIndexKeepPositionKeysShort() {
        var list = list(["first", "last"])
        var most = 0
        for number in 0..<1500 {
            list.names.insert("n\(number)", at: 1)
            most = max(most, list.rank())
            #expect(list.isInOrder)
        }
        #expect(most > 2)
        #expect(list.ranks.values.allSatisfy { $0.text.utf8.count <= 64 })
    }

    @Test(arguments: 1...60)
    func concurrentChangesOfAListConverge(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let base = list((0..<12).map { "n\($0)" })
        var devices = [base, base]
        for index in devices.indices {
            for number in 0..<Int.random(in: 1...6, using: &random) {
                let count = devices[index].names.count
                if random.chance(50) {
                    let name = devices[index].names.remove(at: Int.random(in: 0..<count, using: &random))
                    devices[index].names.insert(name, at: Int.random(in: 0..<count, using: &random))
                } else {
                    devices[index].names.insert("d\(index) \(number)", at: Int.random(in: 0...count, using: &random))
                }
                devices[index].rank()
            }
            #expect(devices[index].isInOrder)
        }
        // The final state of the server: the later of two ranks of a member.
        let later = devices[1].ranks.filter { base.ranks[$0.key] != $0.value }
        let ranks = devices[0].ranks.merging(later) { $1 }
        for index in devices.indices {
            let missing = ranks.keys.filter { !devices[index].names.contains($0) }.shuffled(using: &random)
            devices[index].names += missing
            devices[index].ranks = ranks
            devices[index].sort()
        }
        #expect(devices[0].names == devices[1].names)
        #expect(devices[0].names.count == ranks.count)
    }

    @Test func concurrentInsertionsAtOneIndexDoNotInterleave() {
        let base = list(["a", "z"])
        var one = base, other = base
        one.names.insert(contentsOf: ["one 1", "one 2", "one 3"], at: 1)
        other.names.insert(contentsOf: ["other 1", "other 2", "other 3"], at: 1)
        one.rank()
        other.rank()
        one.names += ["other 3", "other 1", "other 2"]
        one.ranks.merge(other.ranks) { mine, _ in mine }
        one.sort()
        let ones = ["one 1", "one 2", "one 3"], others = ["other 1", "other 2", "other 3"]
        #expect(one.names == ["a"] + ones + others + ["z"] || one.names == ["a"] + others + ones + ["z"])
    }

    @Test func membersWithEqualOrNoPositionKeyAreOrderedByNameUntilTheListChanges() throws {
        let rank = try #require(Rank("V00001"))
        var list = List(names: ["c", "b", "x", "a"], ranks: ["b": rank, "c": rank])
        list.sort()
        #expect(list.names == ["b", "c", "a", "x"])
        #expect(list.rank() == 3)
        #expect(list.isInOrder)
    }

    /// A join record was sent without a position key, since another device had deleted the member. A third device had created an equal
    /// object under its name, which was at another position there.
    @Test func aMemberThatTheServerLacksGetsThePositionKeyOfAJoinRecord() {
        func takes(_ stage: MirrorStage, isInJoinRecord: Bool) -> Bool {
            let key = RowKey(store: 0, entity: 0, primaryKey: 1)
            return RecordState(recordName: "a", key: key, stage: stage).takesPositionKey(isInJoinRecord: isInJoinRecord)
        }
        #expect(takes(.missing, isInJoinRecord: true))
        #expect(!takes(.missing, isInJoinRecord: false))
        for isInJoinRecord in [true, false] {
            #expect(takes(.uploaded, isInJoinRecord: isInJoinRecord))
            #expect(takes(.needsUpload, isInJoinRecord: isInJoinRecord))
            #expect(!takes(.needsDelete, isInJoinRecord: isInJoinRecord))
        }
    }

    @Test(arguments: ["", "V0000 1", "V00000", "é", "V:1", String(repeating: "V", count: 257)])
    func malformedPositionKeysAreIgnored(text: String) { #expect(Rank(text) == nil) }
}
