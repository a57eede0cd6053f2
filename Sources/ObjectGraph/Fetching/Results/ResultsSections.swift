// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The division of a result list into sections: names and lengths, no objects.
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

    /// Returns the section that holds an index; the last section for the list's end.
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

/// Sections during an update. An empty section keeps its position, in case an object joins it.
struct ResultsSectionsDraft {
    private struct Entry {
        var name: String
        var count: Int
        var start: Int
        /// nil for a new section.
        let formerIndex: Int?
    }

    private var entries: [Entry]

    init(_ sections: ResultsSections) {
        entries = sections.entries.enumerated().map {
            Entry(name: $1.name, count: $1.count, start: sections.starts[$0], formerIndex: $0)
        }
    }

    /// Pass indices of the list before any insertion.
    mutating func remove(fromSection section: Int) { change(section, by: -1) }

    /// - Parameter index: The index by the sort order.
    /// - Returns: The same index, or the end of the object's section if the order puts the object elsewhere: no two sections have one name.
    mutating func insert(_ name: String, at index: Int) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].start + entries[middle].count < index { low = middle + 1 } else { high = middle }
        }
        // The sections that end, begin or continue at the index.
        let around = low..<(entries[low...].firstIndex { $0.start > index } ?? entries.count)
        if let section = around.first(where: { entries[$0].name == name }) {
            change(section, by: 1)
            return index
        }
        if let own = entries.firstIndex(where: { $0.name == name && $0.count > 0 }) {
            let end = entries[own].start + entries[own].count
            change(own, by: 1)
            return end
        }
        if let section = around.first(where: { entries[$0].start < index && index < entries[$0].start + entries[$0].count }) {
            return begin(name, after: section)
        }
        if let last = around.last(where: { entries[$0].start + entries[$0].count == index && entries[$0].count > 0 }) {
            return begin(name, after: last)
        }
        return begin(name, after: around.lowerBound - 1)
    }

    private mutating func begin(_ name: String, after section: Int) -> Int {
        let start = section < 0 ? 0 : entries[section].start + entries[section].count
        entries.insert(Entry(name: name, count: 0, start: start, formerIndex: nil), at: section + 1)
        change(section + 1, by: 1)
        return start
    }

    private mutating func change(_ section: Int, by distance: Int) {
        entries[section].count += distance
        for later in (section + 1)..<max(entries.count, section + 1) { entries[later].start += distance }
    }

    /// Returns the remaining sections, and the former and new sections without a counterpart.
    func finish(keepingEmpty: Bool) -> (sections: ResultsSections, deleted: [Int], inserted: [Int]) {
        var (remaining, deleted, inserted): ([ResultsSections.Entry], [Int], [Int]) = ([], [], [])
        for entry in entries {
            guard entry.count > 0 || keepingEmpty else {
                if let formerIndex = entry.formerIndex { deleted.append(formerIndex) }
                continue
            }
            if entry.formerIndex == nil { inserted.append(remaining.count) }
            remaining.append(ResultsSections.Entry(name: entry.name, count: entry.count))
        }
        return (ResultsSections(remaining), deleted, inserted)
    }
}
