// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The trace context that a client sends with a request.
///
/// Source: W3C, *Trace Context*, `traceparent`.
struct TraceParent: Hashable, Sendable {
    /// 32 hexadecimal digits; `parentID` has 16.
    var traceID: String
    var parentID: String
    /// `true` if the client records the trace.
    var isSampled: Bool

    /// - Returns: Nil for an invalid header, which the server ignores.
    init?(_ header: String) {
        let parts = header.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, parts[0].utf8.count == 2, Self.isHex(parts[0]), parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            parts[1].utf8.count == 32, Self.isHex(parts[1]), parts[1].contains(where: { $0 != "0" }), parts[2].utf8.count == 16,
            Self.isHex(parts[2]), parts[2].contains(where: { $0 != "0" }), parts[3].utf8.count == 2, Self.isHex(parts[3])
        else { return nil }
        traceID = parts[1]
        parentID = parts[2]
        isSampled = (UInt8(parts[3], radix: 16) ?? 0) & 1 == 1
    }

    private static func isHex(_ text: String) -> Bool {
        text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
