// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The parts in which keys are sent, since a record has a largest size. The first part is in the record of the exchange, and each of the
/// others in a record of its own.
///
/// The first of several parts begins with their number, in a line that devices of earlier versions read as a comment.
enum ApprovalParts {
    /// Bytes of a part.
    static let bytesMax = 150_000
    /// Parts of one exchange: those of about 75,000 keys.
    static let countMax = 64
    private static let head = "# parts: "

    /// Divides keys between lines.
    static func parts(of keys: String, bytesMax: Int = bytesMax) -> [String] {
        var parts: [String] = []
        var part = ""
        for line in keys.split(separator: "\n", omittingEmptySubsequences: true) {
            if !part.isEmpty, part.utf8.count + line.utf8.count + 1 > bytesMax {
                parts.append(part)
                part = ""
            }
            part += line + "\n"
        }
        parts.append(part)
        if parts.count > 1 { parts[0] = "\(head)\(parts.count)\n" + parts[0] }
        return parts
    }

    /// - Returns: The number of parts; nil if it is out of range.
    static func count(first part: String) -> Int? {
        guard part.hasPrefix(head) else { return 1 }
        guard let count = Int(part.dropFirst(head.count).prefix { $0 != "\n" }), (2...countMax).contains(count) else { return nil }
        return count
    }
}
