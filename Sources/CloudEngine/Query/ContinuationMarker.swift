// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Where a page of a query ended. To clients it is opaque.
///
/// Inside: a version, a fingerprint of the query and its zones, the driver in use, the position, and a code over these and
/// the partition. It names a position and not a state: a record that is saved between two pages may be missed or come twice.
struct ContinuationMarker: Hashable {
    private static let version: UInt8 = 1

    /// - Note: Also for a marker of another server or query.
    static let refused = WireError(.badRequest, "the continuationMarker is not of this query: start again without one")

    var fingerprint: UInt64
    /// Number of the driver; nil if the order determines the plan.
    var driver: Int?
    var position: QueryPosition

    func sealed(for partition: Partition, by sealer: Sealer) -> String {
        var bytes = [Self.version] + IndexKey.bytes(of: fingerprint)
        bytes += IndexKey.bytes(of: UInt64(bitPattern: Int64(driver ?? -1)))
        bytes += IndexKey.bytes(of: UInt64(bitPattern: position.zone))
        for part in [Array(position.recordName.utf8)] + position.keys {
            bytes += [UInt8(part.count >> 8), UInt8(part.count & 0xFF)] + part
        }
        return Base64.encode(bytes + sealer.code(of: bytes + Array(partition.seed.utf8), purpose: .continuation))
    }

    init(fingerprint: UInt64, driver: Int?, position: QueryPosition) {
        self.fingerprint = fingerprint
        self.driver = driver
        self.position = position
    }

    /// - Throws: ``refused`` for anything that this server did not make for the query.
    init(
        opening text: String, for partition: Partition, fingerprint: UInt64, keys: Int, by sealer: Sealer
    ) throws(WireError) {
        guard let sealed = Base64.decode(text), sealed.count >= 25 + Sealer.codeBytes else { throw Self.refused }
        let bytes = Array(sealed.dropLast(Sealer.codeBytes))
        guard bytes[0] == Self.version,
            sealer.isCode(sealed.suffix(Sealer.codeBytes), of: bytes + Array(partition.seed.utf8), purpose: .continuation)
        else { throw Self.refused }
        func number(_ start: Int) -> UInt64 { bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        self.fingerprint = number(1)
        let driver = Int64(bitPattern: number(9))
        self.driver = driver < 0 ? nil : Int(driver)
        var parts: [[UInt8]] = []
        var index = 25
        while index + 2 <= bytes.count {
            let count = Int(bytes[index]) << 8 | Int(bytes[index + 1])
            guard index + 2 + count <= bytes.count else { throw Self.refused }
            parts.append(Array(bytes[index + 2..<index + 2 + count]))
            index += 2 + count
        }
        guard self.fingerprint == fingerprint, index == bytes.count, parts.count == keys + 1 else { throw Self.refused }
        position = QueryPosition(
            keys: Array(parts.dropFirst()), zone: Int64(bitPattern: number(17)),
            recordName: String(decoding: parts[0], as: UTF8.self))
    }
}
