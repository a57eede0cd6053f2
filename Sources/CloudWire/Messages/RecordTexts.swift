// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Records of one zone as the text in which they travel, put together without reading what is stored.
package struct RecordTexts: Hashable, Sendable {
    /// The elements of a JSON array, without its brackets.
    private(set) var bytes: [UInt8] = []
    package private(set) var count = 0
    /// What a stored record does not say of itself: `"zoneID":{…},`.
    private let zone: [UInt8]

    package init(zoneID: ZoneID) {
        var writer = JSONWriter()
        writer.object { $0.member("zoneID", zoneID) }
        zone = writer.bytes.dropFirst().dropLast() + [UInt8(ascii: ",")]
        // Most of a page, so that it is not copied again and again while it grows.
        bytes.reserveCapacity(1 << 17)
    }

    package var byteCount: Int { bytes.count }

    /// Whether a text can go as it is. Assets have addresses that are made for each answer.
    package static func isComplete(_ text: UnsafeRawBufferPointer) -> Bool { !AssetMark.occurs(in: text) }

    /// - Parameter text: A record without its zone, as ``WireMessage/encoded(numbersAsStrings:)`` made it.
    package mutating func append(text: UnsafeRawBufferPointer) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        bytes.append(contentsOf: zone)
        bytes.append(contentsOf: text.dropFirst())
    }

    package mutating func append(_ record: Record) {
        separate()
        bytes.append(contentsOf: record.encoded())
    }

    private mutating func separate() {
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        count += 1
    }
}

/// The type of an asset or of a list of assets, as fields have it. A string that holds it too is taken for one, which
/// costs a reading and nothing else.
private enum AssetMark {
    private static let mark = Array("\"ASSETID".utf8)
    /// How far to go on when a byte stands where the mark's last byte would (Horspool's search).
    private static let steps: [Int] = {
        var steps = [Int](repeating: mark.count, count: 256)
        for (place, byte) in mark.dropLast().enumerated() { steps[Int(byte)] = mark.count - 1 - place }
        return steps
    }()

    static func occurs(in text: UnsafeRawBufferPointer) -> Bool {
        mark.withUnsafeBufferPointer { mark in
            steps.withUnsafeBufferPointer { steps in
                var end = mark.count - 1
                while end < text.count {
                    var place = mark.count - 1
                    while text[end - (mark.count - 1 - place)] == mark[place] {
                        if place == 0 { return true }
                        place -= 1
                    }
                    end += steps[Int(text[end])]
                }
                return false
            }
        }
    }
}
