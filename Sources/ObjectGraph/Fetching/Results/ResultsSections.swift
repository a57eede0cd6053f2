// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// How a list of results is cut into sections: names and lengths, no objects.
struct ResultsSections: Equatable {
    struct Entry: Equatable, Codable {
        var name: String
        var count: Int
    }

    private(set) var entries: [Entry]
    /// Index of each section's first object.
    private(set) var starts: [Int] = []

    init(_ entries: [Entry]) {
        self.entries = entries
        var start = 0
        for entry in entries {
            starts.append(start)
            start += entry.count
        }
    }

    /// The section that holds the object at an index; the last one for the end.
    func section(at index: Int) -> Int {
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return max(low - 1, 0)
    }

    func path(of index: Int) -> IndexPath {
        let section = section(at: index)
        return IndexPath(indexes: [section, index - starts[section]])
    }

    func range(_ section: Int) -> Range<Int> { starts[section]..<(starts[section] + entries[section].count) }
}

/// Sections while objects go and come. A section that is empty meanwhile keeps its place, in case somebody joins it.
struct ResultsSectionsDraft {
    private struct Entry {
        var name: String
        var count: Int
        var start: Int
        /// nil for a section that is new.
        let before: Int?
    }

    private var entries: [Entry]

    init(_ sections: ResultsSections) {
        entries = sections.entries.enumerated().map {
            Entry(name: $1.name, count: $1.count, start: sections.starts[$0], before: $0)
        }
    }

    /// Call it with indices of the list before anything was inserted.
    mutating func remove(fromSection section: Int) { change(section, by: -1) }

    /// - Parameter index: Where the order puts the object.
    /// - Returns: Where it goes: there, or, when the order does not group what belongs together, to the end of its section.
    mutating func insert(_ name: String, at index: Int) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].start + entries[middle].count < index { low = middle + 1 } else { high = middle }
        }
        // The sections that end, begin or go on at the index.
        let around = low..<(entries[low...].firstIndex { $0.start > index } ?? entries.count)
        if let section = around.first(where: { entries[$0].name == name }) {
            change(section, by: 1)
            return index
        }
        if let section = around.first(where: { entries[$0].start < index && index < entries[$0].start + entries[$0].count }) {
            if let own = entries.firstIndex(where: { $0.name == name && $0.count > 0 }) {
                let end = entries[own].start + entries[own].count
                change(own, by: 1)
                return end
            }
            return begin(name, after: section)
        }
        if let last = around.last(where: { entries[$0].start + entries[$0].count == index && entries[$0].count > 0 }) {
            return begin(name, after: last)
        }
        return begin(name, after: around.lowerBound - 1)
    }

    private mutating func begin(_ name: String, after section: Int) -> Int {
        let start = section < 0 ? 0 : entries[section].start + entries[section].count
        entries.insert(Entry(name: name, count: 0, start: start, before: nil), at: section + 1)
        change(section + 1, by: 1)
        return start
    }

    private mutating func change(_ section: Int, by distance: Int) {
        entries[section].count += distance
        for later in (section + 1)..<max(entries.count, section + 1) { entries[later].start += distance }
    }

    /// What is left, and which of the sections before and after have no counterpart.
    func finish(keepingEmpty: Bool) -> (sections: ResultsSections, deleted: [Int], inserted: [Int]) {
        var (kept, deleted, inserted): ([ResultsSections.Entry], [Int], [Int]) = ([], [], [])
        for entry in entries {
            guard entry.count > 0 || keepingEmpty else {
                if let before = entry.before { deleted.append(before) }
                continue
            }
            if entry.before == nil { inserted.append(kept.count) }
            kept.append(ResultsSections.Entry(name: entry.name, count: entry.count))
        }
        return (ResultsSections(kept), deleted, inserted)
    }
}
