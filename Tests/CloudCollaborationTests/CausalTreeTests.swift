// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudCollaboration
import Testing

/// The order of contributions, without objects.
@Suite struct CausalTreeTests {
    typealias Tree = CausalTree<String, Character>
    typealias Contribution = Tree.Contribution

    private func insertion(_ key: String, _ text: String, _ place: Contribution.Place, _ clock: Int64, by author: String = "a")
        -> Contribution
    {
        Contribution(key: key, place: place, clock: clock, author: author, change: .insertion(Array(text)))
    }

    private func text(_ contributions: [Contribution]) -> String { String(Tree(contributions).elements) }

    @Test func concurrentInsertionsAtOnePlaceStayContiguousInTheSameOrder() {
        let base = insertion("1", "Hello!", .beginning, 1)
        let one = insertion("2", " big", .within("1", offset: 5), 2, by: "a"),
            other = insertion("3", " small", .within("1", offset: 5), 2, by: "b")
        let later = insertion("4", " world", .within("2", offset: 4), 3, by: "a")
        let all = [base, one, other, later]
        #expect(text(all) == "Hello big world small!")
        for rotation in all.indices { #expect(text(Array(all[rotation...] + all[..<rotation])) == "Hello big world small!") }
        #expect(text(all.reversed()) == "Hello big world small!")
    }

    @Test func contributionsAreInvisibleUntilTheirParentArrives() {
        let child = insertion("2", "b", .within("1", offset: 1), 2)
        #expect(text([child]) == "")
        #expect(text([insertion("x", "b", .unknown, 2)]) == "")
        #expect(Tree([child]).clock == 2)
        #expect(text([child, insertion("1", "a", .beginning, 1)]) == "ab")
    }

    @Test func removedElementsKeepThePositionOfLaterOnes() {
        let base = insertion("1", "abcdef", .beginning, 1)
        let removal = Contribution(key: "2", place: .within("1", offset: 1), clock: 2, author: "a", change: .removal(count: 3))
        let inside = insertion("3", "X", .within("1", offset: 3), 2, by: "b")
        #expect(text([base, removal, inside]) == "aXef")
        let again = Contribution(key: "4", place: .within("1", offset: 2), clock: 2, author: "b", change: .removal(count: 3))
        #expect(text([again, inside, removal, base]) == "aXf")
    }

    @Test func implausibleNumbersOfOtherDevicesAreTolerated() {
        let base = insertion("1", "ab", .beginning, 1)
        for (offset, expected) in [(Int.max, "abX"), (Int.min, "Xab"), (-1, "Xab"), (7, "abX")] {
            #expect(text([base, insertion("2", "X", .within("1", offset: offset), 2)]) == expected)
        }
        for (offset, count, expected) in [(Int.max, Int.max, "ab"), (1, Int.max, "a"), (Int.min, 1, "b"), (0, Int.min, "ab"), (0, 0, "ab")]
        {
            let removal = Contribution(key: "2", place: .within("1", offset: offset), clock: 2, author: "a", change: .removal(count: count))
            #expect(text([base, removal]) == expected)
        }
        // A maximal clock does not raise the clock of later contributions.
        let last = Tree([base, insertion("2", "X", .within("1", offset: 1), Int64.max)])
        #expect(String(last.elements) == "aXb")
        #expect(last.clock == 1)
        // Circular parents, a removal as a parent, and a parent of itself are invisible.
        let circle = [
            insertion("3", "x", .within("4", offset: 0), 3), insertion("4", "y", .within("3", offset: 0), 3),
            insertion("5", "z", .within("5", offset: 0), 3),
        ]
        #expect(text([base] + circle) == "ab")
    }

    /// Two devices with the same name, or a device and its copy, type offline: each types the same first letter.
    @Test(arguments: 1...20) func equalContributionsAreOrderedByTheirSubtrees(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        var all = [insertion("base", "-", .beginning, 1)]
        for (device, word) in ["Hello", "Hi", "Hell", "Hello"].enumerated() {
            var place = Contribution.Place.within("base", offset: 1)
            for (offset, letter) in word.enumerated() {
                all.append(insertion("\(device).\(offset)", String(letter), place, Int64(offset + 2)))
                place = .within("\(device).\(offset)", offset: 1)
            }
        }
        all.append(Contribution(key: "r", place: .within("3.0", offset: 0), clock: 9, author: "a", change: .removal(count: 1)))
        let one = text(all)
        #expect(one.contains("Hi"))
        #expect(one.count == 1 + 5 + 2 + 4 + 4)
        #expect(text(all.shuffled(using: &random)) == one)
    }

    @Test func aLongChainOfContributionsIsRead() {
        var contributions = [insertion("0", "x", .beginning, 0)]
        for number in 1..<20_000 { contributions.append(insertion("\(number)", "x", .within("\(number - 1)", offset: 1), Int64(number))) }
        #expect(Tree(contributions).elements.count == 20_000)
    }

    /// Devices type, remove and exchange contributions at random. They converge in any order of arrival, and every
    /// typed word that was not removed is present and contiguous.
    @Test(arguments: 1...60) func devicesThatExchangeAllContributionsConverge(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        struct Device { let name: String, contributions: [Contribution] }
        var devices = ["a", "b", "c"].map { Device(name: $0, contributions: []) }
        var words: Set<String> = []
        var lastKey = 0
        func add(_ change: Contribution.Change, _ place: Contribution.Place, _ clock: Int64, to device: Int) {
            lastKey += 1
            let made = Contribution(key: "\(lastKey)", place: place, clock: clock, author: devices[device].name, change: change)
            devices[device] = Device(name: devices[device].name, contributions: devices[device].contributions + [made])
        }
        for step in 0..<80 {
            let device = Int.random(in: 0..<3, using: &random)
            let tree = Tree(devices[device].contributions)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let word = "<\(devices[device].name)\(step)>"
                words.insert(word)
                // Between words, so that no device splits another's word on purpose.
                let gaps = [0] + tree.elements.indices.filter { tree.elements[$0] == ">" }.map { $0 + 1 }
                let index = try #require(gaps.randomElement(using: &random))
                add(.insertion(Array(word)), tree.place(before: index), tree.clock + 1, to: device)
            case 5, 6:
                guard let end = tree.elements.indices.filter({ tree.elements[$0] == ">" }).randomElement(using: &random) else { continue }
                let start = try #require(tree.elements[..<end].lastIndex(of: "<"))
                words.remove(String(tree.elements[start...end]))
                for (offset, removal) in tree.removals(of: start..<(end + 1)).enumerated() {
                    add(.removal(count: removal.count), removal.place, tree.clock + 1 + Int64(offset), to: device)
                }
            default:
                // Some of what another device has, in any order.
                let other = devices[Int.random(in: 0..<3, using: &random)]
                let known = Set(devices[device].contributions.map(\.key))
                let news = other.contributions.filter { !known.contains($0.key) }.shuffled(using: &random)
                let some = news.prefix(Int.random(in: 0...max(news.count, 1), using: &random))
                devices[device] = Device(name: devices[device].name, contributions: devices[device].contributions + some)
            }
        }
        var all: [String: Contribution] = [:]
        for contribution in devices.flatMap(\.contributions) { all[contribution.key] = contribution }
        let texts = (0..<4).map { _ in text(all.values.shuffled(using: &random)) }
        #expect(Set(texts).count == 1, "seed \(seed)")
        let seen = texts[0].split(separator: ">").map { "\($0)>" }
        #expect(Set(seen) == words, "seed \(seed)")
        #expect(seen.count == words.count, "seed \(seed)")
    }
}

/// SplitMix64: the same numbers for the same seed.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
