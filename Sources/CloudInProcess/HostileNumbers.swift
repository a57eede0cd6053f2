// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The numbers in a JSON text, and copies of the text with extreme values for some of them.
///
/// Strings of digits count as numbers, since 64-bit integers and dates may be sent as strings.
package struct HostileNumbers: Sendable {
    /// Values that break unchecked conversions, each as a JSON token.
    package static let extremes = [
        "0", "-0", "-1", "0.5", "2147483648", "9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "1e25", "1e300", "-1e300", "1e-300", "1e999999999", "\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "\"1e300\"",
        "\"9223372036854775807\"",
        "null",
    ]

    /// One value of each kind, for long-running tests.
    package static let fewExtremes = ["-1", "0.5", "9223372036854775807", "-9223372036854775808", "1e300", "\"NaN\"", "\"Infinity\""]

    package struct Number: Sendable {
        /// Bytes of the token, including the quotes of a string.
        package var range: Range<Int>
        /// The keys that lead to the number, without positions in arrays: `zones.records.created.timestamp`.
        package var path: String
    }

    package let json: [UInt8]
    package let numbers: [Number]
    /// The paths of the numbers without duplicates, in order.
    package var paths: [String] {
        var visitedPaths: Set<String> = []
        return numbers.map(\.path).filter { visitedPaths.insert($0).inserted }
    }

    package init(_ json: [UInt8]) {
        var numbers: [Number] = []
        var path: [String] = []
        var key = ""
        var index = 0
        func note(_ end: Int) {
            numbers.append(Number(range: index..<end, path: (path + [key]).filter { !$0.isEmpty }.joined(separator: ".")))
        }
        while index < json.count {
            switch json[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                path.append(key)
                key = ""
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                key = path.popLast() ?? ""
            case UInt8(ascii: "\""):
                var end = index + 1
                while end < json.count, json[end] != UInt8(ascii: "\"") { end += json[end] == UInt8(ascii: "\\") ? 2 : 1 }
                let content = json[(index + 1)..<min(end, json.count)]
                end = min(end + 1, json.count)
                if end < json.count, json[end] == UInt8(ascii: ":") {
                    key = String(decoding: content, as: UTF8.self)
                } else if !content.isEmpty, content.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
                    note(end)
                }
                index = end
                continue
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                var end = index + 1
                while end < json.count, "+-.eE0123456789".utf8.contains(json[end]) { end += 1 }
                note(end)
                index = end
                continue
            default: break
            }
            index += 1
        }
        self.json = json
        self.numbers = numbers
    }

    /// Returns the text with replaced numbers. `choose` returns the token that replaces a number, or `nil` to keep it.
    package func replacing(_ choose: (_ position: Int, Number) -> String?) -> [UInt8] {
        var result: [UInt8] = []
        var end = 0
        for (position, number) in numbers.enumerated() {
            guard let token = choose(position, number) else { continue }
            result += json[end..<number.range.lowerBound]
            result += Array(token.utf8)
            end = number.range.upperBound
        }
        return result + json[end...]
    }
}

/// Random choices that are determined by a seed (SplitMix64).
package struct SeededChoices: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
