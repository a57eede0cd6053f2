// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The last part of the address of a share: the number of a link and a code that makes it unguessable.
struct ShareLink: Hashable, Sendable {
    private static let numberBytes = 8
    private static let codeBytes = 12

    var number: Int64

    init(number: Int64) {
        self.number = number
    }

    func text(by sealer: Sealer) -> String {
        let plain = withUnsafeBytes(of: number.bigEndian) { Array($0) }
        return Hex.text(plain + sealer.code(of: plain, purpose: .shortGUID).prefix(Self.codeBytes))
    }

    /// - Returns: Nil for a text that this server did not make.
    init?(_ text: String, by sealer: Sealer) {
        guard text.utf8.count == 2 * (Self.numberBytes + Self.codeBytes), let bytes = Hex.bytes(text) else { return nil }
        number = Int64(bitPattern: bytes[..<Self.numberBytes].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
        let expected = self.text(by: sealer)
        guard zip(expected.utf8, text.utf8).reduce(0 as UInt8, { $0 | ($1.0 ^ $1.1) }) == 0 else { return nil }
    }
}
