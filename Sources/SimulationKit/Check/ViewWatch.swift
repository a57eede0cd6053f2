// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Sees to it that what a device shows never goes back: to a value that it had replaced, or to an object that was gone.
struct ViewWatch {
    private var last: [String: [String: String]] = [:]
    /// Values that were shown and replaced. A relationship may come back to a target.
    private var left: [String: Set<String>] = [:]
    private var gone: Set<String> = []

    /// What is shown from now on has nothing to do with what was.
    mutating func forget() { self = ViewWatch() }

    /// - Parameters:
    ///   - mayRevert: Whether an object may show a value again that it replaced: the server rejected its deletion, and the row was
    ///     restored with the server's values.
    ///   - mayReturn: Whether an object that was gone may be there once more, to go for good.
    mutating func look(
        _ picture: Picture, mayRevert: (String) -> Bool = { _ in false }, mayReturn: (String) -> Bool = { _ in false }
    ) -> [String] {
        var found: [String] = []
        for (label, entry) in picture.entries {
            if gone.contains(label), !mayReturn(label) { found.append("\(label) was gone and is there again") }
            let before = last[label] ?? [:]
            // What is merged takes values over, and gives them back when it goes on by itself.
            let isMerging = entry.entity == Reference.mergingEntity
            for (key, value) in entry.values where !isMerging && before[key] != value && picture.entries[value] == nil {
                if left["\(label).\(key)"]?.contains(value) == true, !mayRevert(label) { found.append("\(label).\(key) went back to \(value)") }
            }
            for (key, value) in before where entry.values[key] != value { left["\(label).\(key)", default: []].insert(value) }
        }
        for label in last.keys where picture.entries[label] == nil { gone.insert(label) }
        for label in picture.entries.keys { gone.remove(label) }
        last = picture.entries.mapValues(\.values)
        return found.sorted()
    }
}
