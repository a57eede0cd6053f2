// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// A point in the history of a database or of a zone.
///
/// To clients it is opaque. Inside: a format version, what it is a point of, the partition's epoch, the zone's key,
/// the number of the last change seen, and a code over these and the partition.
struct ChangeToken: Hashable, Sendable {
    /// Never renumbered.
    enum Subject: Hashable, Sendable {
        case database
        case zone(key: Int64)
    }

    private static let version: UInt8 = 1
    private static let plainBytes = 1 + 1 + 8 + 8 + 8

    var subject: Subject
    var epoch: Int64
    var number: Int64

    func sealed(for partition: Partition, by sealer: Sealer) -> String {
        let plain = bytes
        return Hex.text(plain + sealer.code(of: plain + Array(partition.seed.utf8), purpose: .changeToken))
    }

    /// Reads a token that this server made for the partition.
    ///
    /// - Throws: `expired` for anything else: a client that starts again is right in every such case.
    init(opening text: String, for partition: Partition, by sealer: Sealer) throws(WireError) {
        guard text.utf8.count == 2 * (Self.plainBytes + Sealer.codeBytes), let bytes = Hex.bytes(text), bytes[0] == Self.version,
            sealer.isCode(
                bytes[Self.plainBytes...], of: Array(bytes[..<Self.plainBytes]) + Array(partition.seed.utf8), purpose: .changeToken)
        else { throw Self.expired }
        let key = Self.integer(bytes[10..<18])
        switch bytes[1] {
        case 1: subject = .database
        case 2: subject = .zone(key: key)
        default: throw Self.expired
        }
        epoch = Self.integer(bytes[2..<10])
        number = Self.integer(bytes[18..<26])
    }

    init(subject: Subject, epoch: Int64, number: Int64) {
        self.subject = subject
        self.epoch = epoch
        self.number = number
    }

    /// Source: the documents name no wire code for this; the native code is that of `CKError.changeTokenExpired`.
    static let expired = WireError(.badRequest, "sync token is too old or of another zone", nativeCode: .changeTokenExpired)

    private var bytes: [UInt8] {
        let (kind, key): (UInt8, Int64) =
            switch subject {
            case .database: (1, 0)
            case .zone(let key): (2, key)
            }
        return [Self.version, kind] + Self.bytes(of: epoch) + Self.bytes(of: key) + Self.bytes(of: number)
    }

    private static func bytes(of value: Int64) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }
}
