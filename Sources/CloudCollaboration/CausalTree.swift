// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// A sequence that several devices write at the same time, as the contributions they made to it: each inserts a run of
/// elements behind an element of another contribution, or removes some of another's.
///
/// What it holds follows from the set of contributions alone, so that everybody who has the same contributions sees the
/// same, in whatever order they arrived. A run stays together: nobody's words are cut by what somebody else wrote at the
/// same place and time. A contribution whose parent has not come yet is not seen until it comes.
///
/// Contributions are never changed and never taken away. What was removed keeps its place, for others may have written
/// behind it.
///
/// Source: the talk *Using Core Data With CloudKit* (2019), "Data modeling for collaboration": contributions, their order,
/// a parent and a device for each.
public struct CausalTree<Key: Hashable & Sendable, Element: Hashable & Sendable>: Sendable {
    public struct Contribution: Hashable, Sendable {
        public enum Change: Hashable, Sendable {
            case insertion([Element])
            /// So many elements of the parent's run, from the place on.
            case removal(count: Int)
        }

        /// Where a contribution belongs.
        public enum Place: Hashable, Sendable {
            case beginning
            /// In the run of another contribution, behind so many of its elements.
            case within(Key, offset: Int)
            /// In the run of one that has not come.
            case unknown
        }

        public var key: Key
        public var place: Place
        /// Higher than that of every contribution its author had seen.
        public var clock: Int64
        /// Names the device, and decides between contributions that were made at the same time.
        public var author: String
        public var change: Change

        public init(key: Key, place: Place, clock: Int64, author: String, change: Change) {
            self.key = key
            self.place = place
            self.clock = clock
            self.author = author
            self.change = change
        }
    }

    /// An element in the run of a contribution.
    public struct Position: Hashable, Sendable {
        public let key: Key
        public let offset: Int
    }

    /// What everybody sees.
    public let elements: [Element]
    /// Where each of the elements is, in the same order.
    public let positions: [Position]
    /// The highest clock of any contribution, seen or not; 0 without one. Clocks that no number of contributions reaches are
    /// passed over: they come from elsewhere, and nothing could be later than the last one.
    public let clock: Int64

    public init(_ contributions: some Sequence<Contribution>) {
        var reader = TreeReader(Array(contributions))
        reader.read()
        (elements, positions, clock) = (reader.elements, reader.positions, reader.clock)
    }

    /// Where something has to be put to stand before the element with an index, or at the end.
    public func place(before index: Int) -> Contribution.Place {
        precondition((0...elements.count).contains(index), "the index is one of an element, or the end")
        if index == 0 { return .beginning }
        return .within(positions[index - 1].key, offset: positions[index - 1].offset + 1)
    }

    /// What has to be removed for the elements of a range to go: elements of a run that follow each other together.
    public func removals(of range: Range<Int>) -> [(place: Contribution.Place, count: Int)] {
        precondition(range.lowerBound >= 0 && range.upperBound <= elements.count, "the range is one of elements")
        var removals: [(start: Position, count: Int)] = []
        for position in positions[range] {
            if let last = removals.last, last.start.key == position.key, last.start.offset + last.count == position.offset {
                removals[removals.count - 1].count += 1
            } else {
                removals.append((position, 1))
            }
        }
        return removals.map { (.within($0.start.key, offset: $0.start.offset), $0.count) }
    }
}

/// Puts contributions in order. Without recursion: every save of somebody who types is the child of the one before.
private struct TreeReader<Key: Hashable & Sendable, Element: Hashable & Sendable> {
    typealias Tree = CausalTree<Key, Element>

    private struct Branch: Hashable {
        let node: Int
        let offset: Int
    }

    private let contributions: [Tree.Contribution]
    private var children: [Branch: [Int]] = [:]
    private var removed: [Int: Set<Int>] = [:]
    /// Empty until contributions stand at one place that are alike.
    private var fingerprints: [Int: UInt64] = [:]
    private(set) var elements: [Element] = []
    private(set) var positions: [Tree.Position] = []
    private(set) var clock: Int64 = 0

    private static var clockMax: Int64 { .max / 2 }

    /// The branch of contributions that stand at the beginning.
    private static var root: Branch { Branch(node: -1, offset: 0) }

    init(_ contributions: [Tree.Contribution]) {
        self.contributions = contributions
        var indices: [Key: Int] = [:]
        for (index, contribution) in contributions.enumerated() {
            indices[contribution.key] = index
            if contribution.clock <= Self.clockMax { clock = max(clock, contribution.clock) }
        }
        for (index, contribution) in contributions.enumerated() {
            switch (contribution.place, contribution.change) {
            case (.beginning, .insertion): children[Self.root, default: []].append(index)
            case (.within(let key, let offset), .insertion):
                guard let parent = indices[key], case .insertion(let run) = contributions[parent].change else { continue }
                children[Branch(node: parent, offset: min(max(offset, 0), run.count)), default: []].append(index)
            case (.within(let key, let offset), .removal(let count)):
                guard let parent = indices[key], case .insertion(let run) = contributions[parent].change, count > 0 else { continue }
                let start = min(max(offset, 0), run.count)
                // Counts come from other devices: nothing here may overflow.
                removed[parent, default: []].formUnion(start..<(start + min(count, run.count - start)))
            case (.unknown, _), (.beginning, .removal): break
            }
        }
    }

    /// The later stands first: it was put directly behind what its author saw.
    private mutating func sorted(_ siblings: [Int]) -> [Int] {
        siblings.sorted { first, second in
            let (one, other) = (contributions[first], contributions[second])
            if one.clock != other.clock { return one.clock > other.clock }
            if one.author != other.author { return one.author < other.author }
            // One device never uses a clock twice, but a copy of it may, or two that were given the same name.
            if one.change != other.change { return "\(one.change)" < "\(other.change)" }
            if fingerprints.isEmpty { fingerprints = fingerprintsOfSubtrees() }
            return fingerprints[first, default: 0] < fingerprints[second, default: 0]
        }
    }

    /// A number for each contribution that follows from it and from all that stands in its run, and from nothing else:
    /// what is alike in itself is told apart by it, the same way on every device.
    private func fingerprintsOfSubtrees() -> [Int: UInt64] {
        let branches = Dictionary(grouping: children.keys, by: \.node)
        var parentsFirst = children[Self.root] ?? []
        var next = 0
        while next < parentsFirst.count {
            for branch in branches[parentsFirst[next]] ?? [] { parentsFirst += children[branch] ?? [] }
            next += 1
        }
        var fingerprints: [Int: UInt64] = [:]
        for node in parentsFirst.reversed() {
            let contribution = contributions[node]
            let own = "\(contribution.clock) \(contribution.author) \(contribution.change) \((removed[node] ?? []).sorted())"
            // A sum does not know the order of the children, which is what it is to decide.
            fingerprints[node] = (branches[node] ?? []).reduce(Self.mixed(own.utf8.map(UInt64.init))) { sum, branch in
                (children[branch] ?? []).reduce(sum) { $0 &+ Self.mixed([UInt64(branch.offset), fingerprints[$1, default: 0]]) }
            }
        }
        return fingerprints
    }

    private static func mixed(_ numbers: [UInt64]) -> UInt64 {
        var fingerprint = Fingerprint()
        for number in numbers { fingerprint.combine(number: number) }
        return fingerprint.value
    }

    mutating func read() {
        for branch in Array(children.keys) { children[branch] = sorted(children[branch] ?? []) }
        var stack: [(node: Int, offset: Int, child: Int)] = [(-1, 0, 0)]
        while let frame = stack.last {
            let siblings = children[Branch(node: frame.node, offset: frame.offset)] ?? []
            if frame.child < siblings.count {
                stack[stack.count - 1].child += 1
                stack.append((siblings[frame.child], 0, 0))
                continue
            }
            guard frame.node >= 0, case .insertion(let run) = contributions[frame.node].change, frame.offset < run.count else {
                stack.removeLast()
                continue
            }
            if removed[frame.node]?.contains(frame.offset) != true {
                elements.append(run[frame.offset])
                positions.append(Tree.Position(key: contributions[frame.node].key, offset: frame.offset))
            }
            stack[stack.count - 1].offset += 1
            stack[stack.count - 1].child = 0
        }
    }
}
