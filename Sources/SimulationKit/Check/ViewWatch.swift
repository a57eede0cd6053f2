// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Checks that the state of a device never reverts: to a replaced value, or to a deleted object.
struct ViewWatch {
    private var last: [String: [String: String]] = [:]
    /// Values that were shown and replaced. A relationship may return to a target.
    private var left: [String: Set<String>] = [:]
    private var gone: Set<String> = []

    /// The following states are independent of the earlier ones.
    mutating func forget() { self = ViewWatch() }

    /// - Parameters:
    ///   - mayRevert: Whether an object may show a replaced value again: the server rejected its deletion, and the row
    ///     was restored with the server's values.
    ///   - log: The losing values of the device's conflict log. An object that loses a required value is withheld, and its unsent edits are
    ///     logged: it returns with the server's values.
    ///   - mayReturn: Whether a deleted object may return once, before its final deletion.
    mutating func look(
        _ picture: Picture, mayRevert: (String) -> Bool = { _ in false }, log: () throws -> Set<String> = { [] },
        mayReturn: (String) -> Bool = { _ in false }
    ) rethrows -> [String] {
        var found: [String] = []
        for (label, entry) in picture.entries {
            if gone.contains(label), !mayReturn(label) { found.append("\(label) was gone and is there again") }
            let before = last[label] ?? [:]
            // A merged object adopts values, and returns them when it is separated again.
            let isMerging = entry.entity == Reference.mergingEntity
            for (key, value) in entry.values where !isMerging && before[key] != value && picture.entries[value] == nil {
                guard var replaced = left["\(label).\(key)"], replaced.remove(value) != nil, !mayRevert(label) else { continue }
                if let value = before[key] { replaced.insert(value) }
                if try entry.entity != Reference.needyEntity || replaced.isDisjoint(with: log()) {
                    found.append("\(label).\(key) went back to \(value)")
                }
            }
            for (key, value) in before where entry.values[key] != value { left["\(label).\(key)", default: []].insert(value) }
        }
        for label in last.keys where picture.entries[label] == nil { gone.insert(label) }
        for label in picture.entries.keys { gone.remove(label) }
        last = picture.entries.mapValues(\.values)
        return found.sorted()
    }
}
