// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Finds a part of a field in texts of records that are not decoded. A string with the same text is a false positive, which costs a
/// decoding only.
struct TextMark {
    /// The type of an asset or a list of assets.
    static let asset = TextMark("\"ASSETID")
    /// The member of a field with an encrypted value.
    static let encrypted = TextMark("\"isEncrypted\"")

    private let mark: [UInt8]
    /// The number of bytes to skip after a mismatch (Horspool's search).
    private let steps: [Int]

    private init(_ text: String) {
        mark = Array(text.utf8)
        var steps = [Int](repeating: mark.count, count: 256)
        for (offset, byte) in mark.dropLast().enumerated() { steps[Int(byte)] = mark.count - 1 - offset }
        self.steps = steps
    }

    func occurs(in text: UnsafeRawBufferPointer) -> Bool {
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
