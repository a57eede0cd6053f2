// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import SystemSupport

/// The items of an address after its `?`.
package struct QueryItems: Hashable, Sendable {
    private var items: [String: String] = [:]

    /// Decodes percent signs. A plus stays a plus: tokens are in Base64 for some clients, and not all of them encode it.
    /// Of items with the same name the first counts; unreadable ones, and those with ``CombiningMarks`` in excess, are skipped.
    package init(_ query: String) { _ = add(query) }

    /// - Returns: `false` if an item was skipped because of its combining marks.
    private mutating func add(_ query: String) -> Bool {
        var isComplete = true
        for item in query.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.text(parts[0]), let value = Self.text(parts.count > 1 ? parts[1] : "") else { continue }
            guard !CombiningMarks.areExcessive(in: name), !CombiningMarks.areExcessive(in: value) else {
                isComplete = false
                continue
            }
            if items[name] == nil { items[name] = value }
        }
        return isComplete
    }

    /// Reads the body of a form that a browser sent: as above, but a plus is a space. A person wrote its texts, so none is left out.
    ///
    /// - Throws: `WireError` with `.badRequest` for ``CombiningMarks`` in excess.
    package init(form: [UInt8]) throws(WireError) {
        let text = String(decoding: form.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        // As it is and decoded: the search for separators compares letters with their marks, too.
        guard !CombiningMarks.areExcessive(in: text), add(text) else {
            throw WireError(
                .badRequest, "A text of the form has more than \(CombiningMarks.inARowMax) combining marks in a row.",
                nativeCode: .limitExceeded)
        }
    }

    /// Reads the body of a form, unless it has too many items. They are counted before one of them is decoded.
    ///
    /// - Throws: `WireError` with `.quotaExceeded`; as ``init(form:)``.
    package init(form: [UInt8], atMost itemsMax: Int) throws(WireError) {
        guard form.count(where: { $0 == UInt8(ascii: "&") }) < itemsMax else {
            throw WireError(.quotaExceeded, "The form has more than \(itemsMax) items.")
        }
        try self.init(form: form)
    }

    /// By name.
    package var all: [(name: String, value: String)] { items.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    package subscript(name: String) -> String? { items[name] }

    /// - Returns: Nil for unreadable text, and for ``CombiningMarks`` in excess.
    package static func decode(_ text: some StringProtocol) -> String? {
        self.text(text).flatMap { CombiningMarks.areExcessive(in: $0) ? nil : $0 }
    }

    private static func text(_ text: some StringProtocol) -> String? {
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
