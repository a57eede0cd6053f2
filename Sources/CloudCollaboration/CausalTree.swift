// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// A sequence that several devices edit concurrently, as the set of their contributions: each inserts a run of elements
/// behind an element of another contribution, or removes elements of another's run.
///
/// The result is a function of the set of contributions alone, so all replicas with the same contributions converge, in
/// whatever order they arrived. A run stays contiguous: concurrent insertions at one place do not interleave. A
/// contribution with a missing parent is invisible until the parent arrives.
///
/// Contributions are immutable and never deleted. Removed elements stay as tombstones, since other contributions may
/// refer to them.
///
/// Source: the talk *Using Core Data With CloudKit* (2019), "Data modeling for collaboration": contributions, their
/// order, a parent and a device for each.
public struct CausalTree<Key: Hashable & Sendable, Element: Hashable & Sendable>: Sendable {
    /// One edit by one device: an insertion or a removal.
    public struct Contribution: Hashable, Sendable {
        /// The effect of a contribution.
        public enum Change: Hashable, Sendable {
            /// Inserts a run of elements.
            case insertion([Element])
            /// Removes `count` elements of the parent's run, from the place on.
            case removal(count: Int)
        }

        /// The position of a contribution relative to its parent.
        public enum Place: Hashable, Sendable {
            /// At the beginning of the sequence.
            case beginning
            /// In the run of another contribution, behind `offset` of its elements.
            case within(Key, offset: Int)
            /// In the run of a contribution that has not arrived.
            case unknown
        }

        /// The contribution's identity.
        public var key: Key
        /// The position of the contribution.
        public var place: Place
        /// A Lamport clock: greater than that of every contribution its author had received.
        public var clock: Int64
        /// Identifies the device; breaks ties between concurrent contributions.
        public var author: String
        /// The effect of the contribution.
        public var change: Change

        /// Creates a contribution.
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
        /// The contribution of the element.
        public let key: Key
        /// The index of the element in the contribution's run.
        public let offset: Int
    }

    /// The visible elements, in order.
    public let elements: [Element]
    /// The position of each visible element, in the same order.
    public let positions: [Position]
    /// The highest clock of any contribution, visible or not; 0 without contributions. Ignores implausibly high clocks of
    /// foreign origin, after which no later clock would exist.
    public let clock: Int64

    /// Orders contributions into a sequence.
    public init(_ contributions: some Sequence<Contribution>) {
        var reader = TreeReader(Array(contributions))
        reader.read()
        (elements, positions, clock) = (reader.elements, reader.positions, reader.clock)
    }

    /// Returns the place of a contribution that inserts before the element at an index, or at the end.
    public func place(before index: Int) -> Contribution.Place {
        precondition((0...elements.count).contains(index), "the index is one of an element, or the end")
        if index == 0 { return .beginning }
        return .within(positions[index - 1].key, offset: positions[index - 1].offset + 1)
    }

    /// Returns the removals for a range of elements: adjacent elements of a run are combined.
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

/// Orders contributions. Without recursion: in typed text every contribution is the child of the previous one.
private struct TreeReader<Key: Hashable & Sendable, Element: Hashable & Sendable> {
    typealias Tree = CausalTree<Key, Element>

    private struct Branch: Hashable {
        let node: Int
        let offset: Int
    }

    private let contributions: [Tree.Contribution]
    private var children: [Branch: [Int]] = [:]
    private var removed: [Int: Set<Int>] = [:]
    /// Empty unless contributions at one place are otherwise equal.
    private var fingerprints: [Int: UInt64] = [:]
    private(set) var elements: [Element] = []
    private(set) var positions: [Tree.Position] = []
    private(set) var clock: Int64 = 0

    private static var clockMax: Int64 { .max / 2 }

    /// The branch of contributions at the beginning.
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
                // Counts come from other devices: no arithmetic on them may overflow.
                removed[parent, default: []].formUnion(start..<(start + min(count, run.count - start)))
            case (.unknown, _), (.beginning, .removal): break
            }
        }
    }

    /// Later contributions come first: their authors had received the earlier ones.
    private mutating func sorted(_ siblings: [Int]) -> [Int] {
        siblings.sorted { first, second in
            let (one, other) = (contributions[first], contributions[second])
            if one.clock != other.clock { return one.clock > other.clock }
            if one.author != other.author { return one.author < other.author }
            // One device never reuses a clock, but a copy of it may, or two devices with the same name.
            if one.change != other.change { return "\(one.change)" < "\(other.change)" }
            if fingerprints.isEmpty { fingerprints = fingerprintsOfSubtrees() }
            return fingerprints[first, default: 0] < fingerprints[second, default: 0]
        }
    }

    /// A hash of each contribution and of its subtree, and of nothing else: it breaks ties between equal contributions,
    /// in the same way on every device.
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
            // A sum is independent of the children's order, which the hash is to determine.
            fingerprints[node] = (branches[node] ?? []).reduce(Self.mixed(own.utf8.map(UInt64.init))) { sum, branch in
                (children[branch] ?? []).reduce(sum) { $0 &+ Self.mixed([UInt64(branch.offset), fingerprints[$1, default: 0]]) }
            }
        }
        return fingerprints
    }

    /// Swift's own hashes differ between processes; a fingerprint does not.
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
