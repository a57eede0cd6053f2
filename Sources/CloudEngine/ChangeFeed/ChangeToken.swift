// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// A point in the history of a database or of a zone.
///
/// Opaque to clients. Contents: a format version, its subject, the partition's epoch, the zone's key,
/// the number of the last change seen, for a walk from newest to oldest where it began and where it ends, and a code
/// over these and the partition.
struct ChangeToken: Hashable, Sendable {
    /// Never renumbered.
    enum Subject: Hashable, Sendable {
        case database
        case zone(key: Int64)
        /// A point of a walk through a zone from newest to oldest.
        case zoneReversed(key: Int64, Walk)
    }

    /// Changes from `top` down to those behind `bottom`.
    struct Walk: Hashable, Sendable {
        /// The last change when the walk began; what came later is asked for from here, oldest first.
        var top: Int64
        /// The last change that the caller had received when the reverse traversal began; nil for a caller without a token.
        var bottom: Int64?
    }

    private static let version: UInt8 = 1
    private static let plainBytes = 1 + 1 + 8 + 8 + 8
    private static let walkBytes = 8 + 8

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
        let lengths = [Self.plainBytes, Self.plainBytes + Self.walkBytes].map { 2 * ($0 + Sealer.codeBytes) }
        guard lengths.contains(text.utf8.count), let bytes = Hex.bytes(text), bytes[0] == Self.version else { throw Self.expired }
        let plain = bytes.dropLast(Sealer.codeBytes)
        guard sealer.isCode(bytes[plain.endIndex...], of: Array(plain) + Array(partition.seed.utf8), purpose: .changeToken)
        else { throw Self.expired }
        let key = Self.integer(bytes[10..<18])
        switch (bytes[1], plain.count) {
        case (1, Self.plainBytes): subject = .database
        case (2, Self.plainBytes): subject = .zone(key: key)
        case (3, Self.plainBytes + Self.walkBytes):
            let bottom = Self.integer(bytes[34..<42])
            subject = .zoneReversed(key: key, Walk(top: Self.integer(bytes[26..<34]), bottom: bottom < 0 ? nil : bottom))
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

    /// The newest change that a holder of the token may know.
    private var newestChange: Int64 {
        if case .zoneReversed(_, let walk) = subject { walk.top } else { number }
    }

    /// Whether the history of the database contains the point. It does not when the server was restored from a backup that is older.
    ///
    /// A token from before the restore stays valid up to the last change that the backup has.
    func isKnown(to state: PartitionState, _ view: any PartitionReader) throws -> Bool {
        if epoch == state.epoch { return newestChange <= state.counter }
        guard let point = try view.restorePoint(), point.nextEpoch == state.epoch else { return false }
        return epoch == point.epoch && newestChange <= point.counter
    }

    /// The refusal of a point that the history does not contain. It names the last change that both have, if that is known.
    func historyLost(_ state: PartitionState, _ view: any PartitionReader) throws -> WireError {
        var error = WireError(
            .badRequest, "the server was restored from a backup that is older than the sync token", nativeCode: .changeTokenExpired)
        error.isHistoryLost = true
        if let point = try view.restorePoint(), point.nextEpoch == state.epoch, point.epoch == epoch {
            error.restoredChangeTag = RecordBatch.changeTag(point.counter)
        }
        return error
    }

    private var bytes: [UInt8] {
        let (kind, key): (UInt8, Int64) =
            switch subject {
            case .database: (1, 0)
            case .zone(let key): (2, key)
            case .zoneReversed(let key, _): (3, key)
            }
        let plain = [Self.version, kind] + Self.bytes(of: epoch) + Self.bytes(of: key) + Self.bytes(of: number)
        guard case .zoneReversed(_, let walk) = subject else { return plain }
        return plain + Self.bytes(of: walk.top) + Self.bytes(of: walk.bottom ?? -1)
    }

    private static func bytes(of value: Int64) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }
}
