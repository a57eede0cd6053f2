// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import SystemSupport

/// The items of an address after its `?`.
package struct QueryItems: Hashable, Sendable {
    private var items: [String: String] = [:]

    /// Decodes percent signs. A plus stays a plus: tokens are in Base64 for some clients, and not all of them encode it.
    /// Of items with the same name the first counts; unreadable ones, and those with ``CombiningMarks`` in excess, are skipped.
    package init(_ query: String) { add(query) { !CombiningMarks.areExcessive(in: $0) } }

    /// - Parameter isAccepted: Decides on values. A name in excess is never one that is looked for.
    private mutating func add(_ query: String, isAccepted: (String) -> Bool) {
        for item in query.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(parts[0]), !CombiningMarks.areExcessive(in: name),
                let value = Self.decode(parts.count > 1 ? parts[1] : ""), isAccepted(value)
            else { continue }
            if items[name] == nil { items[name] = value }
        }
    }

    /// Reads the body of a form that a browser sent: as above, but a plus is a space.
    package init(form: [UInt8]) {
        add(String(decoding: form.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)) { _ in true }
    }

    /// Reads the body of a form, unless it has too many items. They are counted before one of them is decoded.
    ///
    /// - Throws: `WireError` with `.quotaExceeded`.
    package init(form: [UInt8], atMost itemsMax: Int) throws(WireError) {
        guard form.count(where: { $0 == UInt8(ascii: "&") }) < itemsMax else {
            throw WireError(.quotaExceeded, "The form has more than \(itemsMax) items.")
        }
        self.init(form: form)
    }

    /// By name.
    package var all: [(name: String, value: String)] { items.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    package subscript(name: String) -> String? { items[name] }

    package static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Encodes all but letters, digits and `-._~`.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded.append(contentsOf: Hex.text([byte], .upper).utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }
}
