// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData

/// A text that several devices write, offline too, and that is the same on all of them once they have heard of each other:
/// nobody's words are lost, and nobody's words are torn apart.
///
///     let text = ContributedText(of: post, "contents", by: deviceName)
///     text.string = field.text                     // what changed becomes contributions; the app saves
///     label.text = text.string                     // all contributions, in the order that everybody has
///
/// Read it on the queue of the object's context. Reading goes through all contributions there are; what was removed stays
/// among them, so a text grows with its history.
public struct ContributedText {
    /// Texts longer than this, where they differ, are replaced as a whole instead of being compared.
    static let comparedMax = 4_000

    private let contributions: Contributions

    /// - Parameters:
    ///   - relationship: The to-many relationship of the owner to its contributions.
    ///   - author: Names this device; the same each time, and no other's.
    public init(of owner: NSManagedObject, _ relationship: String, by author: String, names: ContributionNames = ContributionNames()) {
        contributions = Contributions(owner, relationship, author, names)
    }

    /// The text. Setting it contributes what differs from the present text, and nothing else.
    public var string: String {
        get {
            let objects = contributions.all
            return withExtendedLifetime(objects) { Self.text(contributions.tree(of: objects, Self.elements).elements) }
        }
        nonmutating set { change(to: Array(newValue.unicodeScalars)) }
    }

    /// Puts text before a character, or at the end.
    ///
    /// - Parameter offset: Counted in Unicode scalars.
    public func insert(_ text: String, at offset: Int) { replace(offset..<offset, with: text) }

    /// - Parameter range: Counted in Unicode scalars.
    public func replace(_ range: Range<Int>, with text: String) { edit([(range, Array(text.unicodeScalars))]) }

    private static func elements(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }

    private static func text(_ elements: [Unicode.Scalar]) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: elements)
        return text
    }

    private func change(to new: [Unicode.Scalar]) {
        let objects = contributions.all
        let old = withExtendedLifetime(objects) { contributions.tree(of: objects, Self.elements).elements }
        var start = 0
        while start < min(old.count, new.count), old[start] == new[start] { start += 1 }
        var end = 0
        while end < min(old.count, new.count) - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
        let (before, after) = (old[start..<(old.count - end)], new[start..<(new.count - end)])
        if before.isEmpty, after.isEmpty { return }
        if before.isEmpty || after.isEmpty || before.count + after.count > Self.comparedMax {
            return edit([(start..<(start + before.count), Array(after))])
        }
        edit(Self.edits(from: Array(before), to: Array(after)).map { ($0.range.lowerBound + start..<$0.range.upperBound + start, $0.text) })
    }

    /// Parts that differ, in terms of the old text, from the front to the back.
    static func edits(from old: [Unicode.Scalar], to new: [Unicode.Scalar]) -> [(range: Range<Int>, text: [Unicode.Scalar])] {
        let difference = new.difference(from: old)
        var removed: Set<Int> = []
        for case .remove(let offset, _, _) in difference { removed.insert(offset) }
        var inserted: [Int: Unicode.Scalar] = [:]
        for case .insert(let offset, let element, _) in difference { inserted[offset] = element }
        var edits: [(range: Range<Int>, text: [Unicode.Scalar])] = []
        var (oldIndex, newIndex) = (0, 0)
        while oldIndex < old.count || newIndex < new.count {
            if removed.contains(oldIndex) || inserted[newIndex] != nil {
                let start = oldIndex
                var text: [Unicode.Scalar] = []
                while removed.contains(oldIndex) || inserted[newIndex] != nil {
                    if let element = inserted[newIndex] {
                        text.append(element)
                        newIndex += 1
                    } else {
                        oldIndex += 1
                    }
                }
                edits.append((start..<oldIndex, text))
            } else {
                oldIndex += 1
                newIndex += 1
            }
        }
        return edits
    }

    /// - Parameter edits: Of the present text, apart from each other.
    private func edit(_ edits: [(range: Range<Int>, text: [Unicode.Scalar])]) {
        let objects = contributions.all
        withExtendedLifetime(objects) {
            let tree = contributions.tree(of: objects, Self.elements)
            var clock = tree.clock
            for (range, text) in edits {
                // The new words stand behind those that they replace: whoever writes there at the same time is behind them, too.
                if !text.isEmpty {
                    clock += 1
                    contributions.add(Self.text(text), at: tree.place(before: range.upperBound), clock: clock, among: objects)
                }
                for removal in tree.removals(of: range) {
                    clock += 1
                    contributions.add(nil, removing: removal.count, at: removal.place, clock: clock, among: objects)
                }
            }
        }
    }
}
