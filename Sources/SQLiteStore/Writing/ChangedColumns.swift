// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The bitmap of a history row: the properties of its entity that an update changed.
///
/// Bit n, counted from the most significant bit of the first byte, is the n-th persisted property by name.
/// Source: `core-data-sqlite-format`, "Persistent history tables" (measured by a published reader).
struct ChangedColumns: Equatable {
    private(set) var bitmap: Data

    init(bitmap: Data) { self.bitmap = bitmap }

    init(propertyCount: Int) { bitmap = Data(count: (propertyCount + 7) / 8) }

    mutating func insert(_ bit: Int) { bitmap[bitmap.startIndex + bit / 8] |= 0x80 >> UInt8(bit % 8) }

    func contains(_ bit: Int) -> Bool {
        bit / 8 < bitmap.count && bitmap[bitmap.startIndex + bit / 8] & (0x80 >> UInt8(bit % 8)) != 0
    }

    var isEmpty: Bool { bitmap.allSatisfy { $0 == 0 } }

    func properties(of names: [String]) -> [String] {
        names.indices.filter(contains).map { names[$0] }
    }
}
