// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Encoded records of one zone, assembled without decoding the stored texts.
package struct RecordTexts: Hashable, Sendable {
    /// The elements of a JSON array, without its brackets.
    private(set) var bytes: [UInt8] = []
    package private(set) var count = 0
    /// The members that a stored record lacks: `"zoneID":{…},`, and the same with those that every existing record has.
    private let zone: [UInt8]
    private let zoneOfLive: [UInt8]
    private let form: AnswerForm

    package init(zoneID: ZoneID, as form: AnswerForm = AnswerForm()) {
        func members(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
            var writer = JSONWriter()
            writer.hasLiveKeys = form.hasLiveKeys
            writer.isDocumentedOnly = form.isDocumentedOnly
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

    /// Whether a text can be sent unchanged. Assets have addresses that are created for each response.
    package static func isComplete(_ text: UnsafeRawBufferPointer) -> Bool { !AssetMark.occurs(in: text) }

    /// Whether there are assets, which have the addresses of one response.
    package var hasAssets: Bool { bytes.withUnsafeBytes { AssetMark.occurs(in: $0) } }

    /// - Parameter text: A record without its zone, as ``WireMessage/encoded(numbersAsStrings:)`` returned it.
    package mutating func append(text: UnsafeRawBufferPointer) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        // An existing record ends with its fields, a deleted one with `true`.
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
        // Most of a page, so that the buffer is not copied repeatedly while it grows.
        if count == 1 { bytes.reserveCapacity(3 << 16) }
        count += 1
    }
}

/// Finds the type of an asset or a list of assets in a field of a text that this package encoded. A string with the same text is a false
/// positive, which costs a decoding only. Other texts may have an asset in another form.
enum AssetMark {
    private static let mark = Array("\"ASSETID".utf8)
    /// The number of bytes to skip after a mismatch (Horspool's search).
    private static let steps: [Int] = {
        var steps = [Int](repeating: mark.count, count: 256)
        for (offset, byte) in mark.dropLast().enumerated() { steps[Int(byte)] = mark.count - 1 - offset }
        return steps
    }()

    static func occurs(in text: UnsafeRawBufferPointer) -> Bool {
        mark.withUnsafeBufferPointer { mark in
            steps.withUnsafeBufferPointer { steps in
                var end = mark.count - 1
                while end < text.count {
                    var offset = mark.count - 1
                    while text[end - (mark.count - 1 - offset)] == mark[offset] {
                        if offset == 0 { return true }
                        offset -= 1
                    }
                    end += steps[Int(text[end])]
                }
                return false
            }
        }
    }
}
