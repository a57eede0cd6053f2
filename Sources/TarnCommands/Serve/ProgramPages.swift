// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The pages of the program and its libraries that the process has in memory.
///
/// The start of a server reads half of the program: Swift's runtime scans the records of all types, and the system maps the neighbours of
/// each page as well. Most of these pages are not read again.
enum ProgramPages {
    /// A part of the address space that shows a file's code.
    struct Mapping: Hashable {
        var start: UInt
        var byteCount: Int
    }

    /// Unmaps the pages of code. The process reads a page again from the page cache, with its 15 neighbours, when it executes it: less than
    /// a millisecond in total.
    ///
    /// Writable mappings are excluded: their pages may differ from the file.
    ///
    /// Source: the Linux manual, madvise(2), "MADV_DONTNEED".
    static func release() {
        guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else { return }
        for mapping in codeMappings(of: maps) {
            guard let start = UnsafeMutableRawPointer(bitPattern: mapping.start) else { continue }
            _ = madvise(start, mapping.byteCount, MADV_DONTNEED)
        }
    }

    /// The private mappings of files that can be executed and not written to.
    ///
    /// Source: the Linux manual, proc_pid_maps(5).
    static func codeMappings(of maps: String) -> [Mapping] {
        maps.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard columns.count == 6, columns[1] == "r-xp", columns[4] != "0" else { return nil }
            let ends = columns[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, ends[0] < ends[1], let byteCount = Int(exactly: ends[1] - ends[0]) else { return nil }
            return Mapping(start: ends[0], byteCount: byteCount)
        }
    }
}
