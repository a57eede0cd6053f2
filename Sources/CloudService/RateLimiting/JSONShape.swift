// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Measures a JSON text without decoding it: a nanosecond or two for each byte, and no memory for its values.
package enum JSONShape {
    /// Nesting at which the scan ends; the decoder rejects such a text.
    private static let depthMax = 1000

    /// The number of elements of the longest list.
    ///
    /// The text may be invalid. Of a valid text the number is exact, but for an empty list, which counts as one element.
    package static func longestList(in body: [UInt8]) -> Int {
        var longest = 0
        /// Elements of each open list; nil for an open object.
        var open: [Int?] = []
        body.withUnsafeBufferPointer { bytes in
            var index = 0
            while index < bytes.count {
                switch bytes[index] {
                case UInt8(ascii: "\""):
                    index += 1
                    while index < bytes.count, bytes[index] != UInt8(ascii: "\"") { index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1 }
                case UInt8(ascii: "["):
                    open.append(1)
                    longest = max(longest, 1)
                    if open.count > depthMax { return }
                case UInt8(ascii: "{"):
                    open.append(nil)
                    if open.count > depthMax { return }
                case UInt8(ascii: "]"), UInt8(ascii: "}"):
                    _ = open.popLast()
                case UInt8(ascii: ","):
                    if case let count?? = open.last {
                        open[open.count - 1] = count + 1
                        longest = max(longest, count + 1)
                    }
                default: break
                }
                index += 1
            }
        }
        return longest
    }
}
