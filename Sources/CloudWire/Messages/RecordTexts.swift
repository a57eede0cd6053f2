// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Records of one zone as the text in which they travel, put together without reading what is stored.
package struct RecordTexts: Hashable, Sendable {
    /// The elements of a JSON array, without its brackets.
    private(set) var bytes: [UInt8] = []
    package private(set) var count = 0
    /// What a stored record does not say of itself: `"zoneID":{…},`, and the same with what a live one says beside.
    private let zone: [UInt8]
    private let zoneOfLive: [UInt8]
    private let form: AnswerForm

    package init(zoneID: ZoneID, as form: AnswerForm = AnswerForm()) {
        func members(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
            var writer = JSONWriter()
            writer.hasLiveKeys = form.hasLiveKeys
            writer.object(write)
            return writer.bytes.dropFirst().dropLast() + [UInt8(ascii: ",")]
        }
        self.form = form
        zone = members { $0.member("zoneID", zoneID) }
        zoneOfLive = members { writer in
            writer.member("zoneID", zoneID)
            if form.hasLiveKeys { writer.raw(members: Record.liveKeys) }
        }
    }

    package var byteCount: Int { bytes.count }

    /// Whether a text can go as it is. Assets have addresses that are made for each answer.
    package static func isComplete(_ text: UnsafeRawBufferPointer) -> Bool { !AssetMark.occurs(in: text) }

    /// Whether there are assets among them, which have the addresses of one answer.
    package var hasAssets: Bool { bytes.withUnsafeBytes { AssetMark.occurs(in: $0) } }

    /// - Parameter text: A record without its zone, as ``WireMessage/encoded(numbersAsStrings:)`` made it.
    package mutating func append(text: UnsafeRawBufferPointer) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        // A live record ends with its fields, a deleted one with `true`.
        let isLive = text.count > 1 && text[text.count - 2] == UInt8(ascii: "}")
        bytes.append(contentsOf: isLive ? zoneOfLive : zone)
        bytes.append(contentsOf: text.dropFirst())
    }

    package mutating func append(_ record: Record) {
        separate()
        bytes.append(contentsOf: record.encoded(as: form))
    }

    private mutating func separate() {
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        // Most of a page, so that it is not copied again and again while it grows.
        if count == 1 { bytes.reserveCapacity(3 << 16) }
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
