// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData

/// A text that several devices edit, also offline, and that converges on all of them after sync: no insertion is lost or
/// interleaved with a concurrent one.
///
///     let text = ContributedText(of: post, "contents", by: deviceName)
///     text.string = field.text                     // the difference becomes contributions; the app saves
///     label.text = text.string                     // all contributions, in the same order on every device
///
/// Use it on the queue of the object's context. Reading traverses all contributions, including removed ones, so the cost
/// grows with the text's history.
public struct ContributedText {
    /// The length above which differing texts are replaced as a whole instead of being compared.
    static let comparedMax = 4_000

    private let contributions: Contributions

    /// Creates a text over a relationship.
    ///
    /// - Parameters:
    ///   - owner: The object with the text.
    ///   - relationship: The to-many relationship of the owner to its contributions.
    ///   - author: Identifies this device: constant, and unique among devices.
    ///   - names: The names of the contributions' entity and properties.
    public init(of owner: NSManagedObject, _ relationship: String, by author: String, names: ContributionNames = ContributionNames()) {
        contributions = Contributions(owner, relationship, author, names)
    }

    /// The text. Setting it contributes the difference from the current text only.
    public var string: String {
        get {
            let objects = contributions.all
            return withExtendedLifetime(objects) { Self.text(contributions.tree(of: objects, Self.elements).elements) }
        }
        nonmutating set { change(to: Array(newValue.unicodeScalars)) }
    }

    /// Inserts text before a character, or at the end.
    ///
    /// - Parameters:
    ///   - text: The text to insert.
    ///   - offset: The position, counted in Unicode scalars.
    public func insert(_ text: String, at offset: Int) { replace(offset..<offset, with: text) }

    /// Replaces a range of the text.
    ///
    /// - Parameters:
    ///   - range: The range to replace, counted in Unicode scalars.
    ///   - text: The new text.
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
        let (formerMiddle, after) = (old[start..<(old.count - end)], new[start..<(new.count - end)])
        if formerMiddle.isEmpty, after.isEmpty { return }
        if formerMiddle.isEmpty || after.isEmpty || formerMiddle.count + after.count > Self.comparedMax {
            return edit([(start..<(start + formerMiddle.count), Array(after))])
        }
        edit(
            Self.edits(from: Array(formerMiddle), to: Array(after)).map {
                ($0.range.lowerBound + start..<$0.range.upperBound + start, $0.text)
            })
    }

    /// The differing parts, as ranges of the old text, in ascending order.
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

    /// - Parameter edits: Disjoint edits of the current text.
    private func edit(_ edits: [(range: Range<Int>, text: [Unicode.Scalar])]) {
        let objects = contributions.all
        withExtendedLifetime(objects) {
            let tree = contributions.tree(of: objects, Self.elements)
            var clock = tree.clock
            for (range, text) in edits {
                // The new text is inserted behind the replaced one, so concurrent insertions there follow it, too.
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
