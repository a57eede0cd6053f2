// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore

/// The sync metadata of a device's zones, read and changed in place.
package struct ZoneTable: Sendable {
    /// In ascending order: the home zone is the first one.
    package private(set) var numbers = [MirrorZone.home]
    private var zones = [Box(ZoneMetadata())]

    /// The metadata of a zone, which copies share until one of them changes it.
    // Unchecked: a box is changed only while one copy refers to it.
    private final class Box: @unchecked Sendable {
        @exclusivity(unchecked) var metadata: ZoneMetadata

        init(_ metadata: ZoneMetadata) { self.metadata = metadata }
    }

    package var count: Int { numbers.count }
    package var shares: ArraySlice<Int64> { numbers.dropFirst() }

    package func contains(_ number: Int64) -> Bool { numbers.contains(number) }

    mutating func insert(_ number: Int64) {
        precondition(!contains(number), "a zone is learned once")
        let index = numbers.firstIndex { $0 > number } ?? numbers.endIndex
        numbers.insert(number, at: index)
        zones.insert(Box(ZoneMetadata()), at: index)
    }

    package subscript(number: Int64) -> ZoneMetadata {
        _read { yield zones[index(of: number)].metadata }
        _modify {
            let index = index(of: number)
            if !isKnownUniquelyReferenced(&zones[index]) { zones[index] = Box(zones[index].metadata) }
            yield &zones[index].metadata
        }
    }

    private func index(of number: Int64) -> Int {
        for index in numbers.indices where numbers[index] == number { return index }
        preconditionFailure("no zone \(number)")
    }
}
