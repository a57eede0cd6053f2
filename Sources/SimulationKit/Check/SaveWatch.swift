// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Checks that no device ever shows part of a save: it shows all of it, or nothing.
///
/// Another save of the same object may replace or delete a part. So an object of two saves counts for neither.
/// for neither of them.
struct SaveWatch {
    /// A change of a save that a device shows or doesn't show.
    private enum Part {
        case object(String)
        case value(label: String, key: String, value: String)
        case link(Edit.Pair)
    }

    private struct Save {
        let author: String
        var parts: [Part]
    }

    private var saves: [Save] = []
    /// The numbers of the saves that wrote to an object. Links aren't writes to their objects.
    private var writers: [String: Set<Int>] = [:]
    private var linkers: [Edit.Pair: Set<Int>] = [:]
    private var deleted: Set<String> = []

    /// To-one relationships, since several saves may write the same label, and properties that older versions of the
    /// app lack.
    private static let uncheckedKeys: Set<String> = ["post", "image", "attachment", "parent", "place", "topic", "mood"]
    /// Merged objects adopt values, and withheld objects appear late.
    private static let uncheckedEntities: Set<String> = ["Place", "Topic", "Comment"]

    mutating func take(_ edit: Edit, by author: String) {
        let number = saves.count
        var parts: [Part] = []
        for change in edit.changes {
            switch change {
            case .insert(let label, let entity):
                writers[label, default: []].insert(number)
                if !Self.uncheckedEntities.contains(entity) { parts.append(.object(label)) }
            case .set(let label, let key, _, let new):
                writers[label, default: []].insert(number)
                if let new, !Self.uncheckedKeys.contains(key), !Self.isUnchecked(label) {
                    parts.append(.value(label: label, key: key, value: new))
                }
            case .delete(let label, _):
                writers[label, default: []].insert(number)
                deleted.insert(label)
            case .arrange(let label, _, _): writers[label, default: []].insert(number)
            case .link(let pair):
                linkers[pair, default: []].insert(number)
                if pair.relationship != "topics" { parts.append(.link(pair)) }
            case .unlink(let pair): linkers[pair, default: []].insert(number)
            }
        }
        saves.append(Save(author: author, parts: parts))
    }

    private static func isUnchecked(_ label: String) -> Bool { uncheckedEntities.contains { label.hasPrefix("\($0)-") } }

    /// - Returns: The saves of which a device shows only a part.
    func look(_ picture: Picture) -> [String] {
        saves.indices.compactMap { number in
            let parts = saves[number].parts.filter { counts($0, in: number) }
            guard parts.count > 1 else { return nil }
            let shown = parts.filter { Self.isShown($0, in: picture) }
            guard !shown.isEmpty, shown.count < parts.count else { return nil }
            let missing = parts.first { !Self.isShown($0, in: picture) }
            return
                "of a save by \(saves[number].author) \(shown.count) of \(parts.count) parts are shown, and not \(missing.map { "\($0)" } ?? "")"
        }
    }

    private func counts(_ part: Part, in number: Int) -> Bool {
        switch part {
        case .object(let label), .value(let label, _, _): writers[label] == [number]
        case .link(let pair):
            // The deletion of an end removes the link.
            linkers[pair] == [number] && deleted.isDisjoint(with: [pair.first, pair.second])
        }
    }

    private static func isShown(_ part: Part, in picture: Picture) -> Bool {
        switch part {
        case .object(let label): picture.entries[label] != nil
        case .value(let label, let key, let value): picture.entries[label]?.values[key] == value
        case .link(let pair): picture.entries[pair.first]?.links[pair.relationship]?.contains(pair.second) == true
        }
    }
}
