// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// A point in the history of a database or of a zone.
///
/// Opaque to clients. Contents: a format version, its subject, the partition's epoch, the zone's key,
/// the number of the last change seen, for a walk from newest to oldest where it began and where it ends, for a history that began
/// with a restore its origin, for a page that is not the last one the state that it was read from, and a code over these and the partition.
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

    /// Where a restored history left the one that its backup is of.
    ///
    /// A server that is restored from another copy of that backup, or from another backup of that history, finds here which changes both
    /// have: it knows nothing of the history that the first restore began.
    struct Origin: Hashable, Sendable {
        var epoch: Int64
        /// The last change in the backup.
        var number: Int64
    }

    /// The optional contents, by the version: 1 has none.
    private struct Parts: OptionSet {
        let rawValue: UInt8
        static let origin = Parts(rawValue: 1)
        static let state = Parts(rawValue: 2)

        var version: UInt8 { rawValue + 1 }
        var byteCount: Int { (contains(.origin) ? originBytes : 0) + (contains(.state) ? stateBytes : 0) }

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init?(version: UInt8) {
            guard (1...4).contains(version) else { return nil }
            rawValue = version - 1
        }
    }

    private static let plainBytes = 1 + 1 + 8 + 8 + 8
    private static let walkBytes = 8 + 8
    private static let originBytes = 8 + 8
    private static let stateBytes = 8

    var subject: Subject
    var epoch: Int64
    var number: Int64
    /// nil for a history that did not begin with a restore.
    var origin: Origin?
    /// The last change when the page before the point was read; nil if the point is as new.
    ///
    /// The pages up to the point lack records that had changed later, or were deleted. A restored server has them before the point
    /// again, if its backup is older than that change.
    private(set) var state: Int64?

    func sealed(for partition: Partition, by sealer: Sealer) -> String {
        let plain = bytes
        return Hex.text(plain + sealer.code(of: plain + Array(partition.seed.utf8), purpose: .changeToken))
    }

    /// Reads a token that this server made for the partition.
    ///
    /// - Throws: `expired` for anything else: a client that starts again is right in every such case.
    init(opening text: String, for partition: Partition, by sealer: Sealer) throws(WireError) {
        let bytesMax = Self.plainBytes + Self.walkBytes + Self.originBytes + Self.stateBytes + Sealer.codeBytes
        guard text.utf8.count <= 2 * bytesMax, let bytes = Hex.bytes(text), let version = bytes.first,
            let parts = Parts(version: version), bytes.count >= Self.plainBytes + parts.byteCount + Sealer.codeBytes
        else { throw Self.expired }
        let plain = bytes.dropLast(Sealer.codeBytes)
        guard sealer.isCode(bytes[plain.endIndex...], of: Array(plain) + Array(partition.seed.utf8), purpose: .changeToken)
        else { throw Self.expired }
        let key = Self.integer(bytes[10..<18])
        var start = plain.count - parts.byteCount
        if parts.contains(.origin) {
            origin = Origin(epoch: Self.integer(bytes[start..<start + 8]), number: Self.integer(bytes[start + 8..<start + 16]))
            start += Self.originBytes
        }
        if parts.contains(.state) { state = Self.integer(bytes[start..<start + 8]) }
        switch (bytes[1], plain.count - parts.byteCount) {
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

    /// - Parameter state: The last change when the page before the point was read.
    init(subject: Subject, epoch: Int64, number: Int64, origin: Origin? = nil, readAt state: Int64 = 0) {
        self.subject = subject
        self.epoch = epoch
        self.number = number
        self.origin = origin
        if state > newestChange { self.state = state }
    }

    /// Source: the documents name no wire code for this; the native code is that of `CKError.changeTokenExpired`.
    static let expired = WireError(.badRequest, "sync token is too old or of another zone", nativeCode: .changeTokenExpired)

    /// The newest change that a holder of the token may know, or know of by what its pages lack.
    private var newestChange: Int64 {
        let point = if case .zoneReversed(_, let walk) = subject { walk.top } else { number }
        return max(point, state ?? 0)
    }

    /// Whether the history of the database contains the point. It does not when the server was restored from a backup that is older.
    ///
    /// A token from before the restore stays valid up to the last change that the backup has.
    func isKnown(to state: PartitionState, _ view: any PartitionReader) throws -> Bool {
        if epoch == state.epoch {
            if newestChange > state.counter { try view.checkIsLatest() }
            return newestChange <= state.counter
        }
        return try lastCommonChange(state, view).map { newestChange <= $0 } ?? false
    }

    /// The refusal of a point that the history does not contain. A caller with ``Capability/lostHistory`` receives the last change that both
    /// have, if that is known.
    func historyLost(_ state: PartitionState, _ view: any PartitionReader, _ call: Call) throws -> WireError {
        var error = WireError(
            .badRequest, "the server was restored from a backup that is older than the sync token", nativeCode: .changeTokenExpired)
        guard call.capabilities.contains(.lostHistory) else { return error }
        error.isHistoryLost = true
        error.restoredChangeTag = try lastCommonChange(state, view).map { RecordBatch.changeTag($0) }
        return error
    }

    /// The last change that the token's history and the present one have in common, where the present one began with a restore; nil if it
    /// is unknown.
    ///
    ///     epoch 1   1 ─ 2 ─ 3 ─ 4 ─ 5       lost with the first restore
    ///     epoch 2               └─ 5 ─ 6    lost with the second one; its tokens have the origin (1, 4)
    ///     epoch 3               └─ 5        began from the same backup: changes up to 4 are common to all three
    private func lastCommonChange(_ state: PartitionState, _ view: any PartitionReader) throws -> Int64? {
        guard let present = try view.origin(of: state) else { return nil }
        if epoch == present.epoch { return present.number }
        guard epoch != state.epoch, let origin, origin.epoch == present.epoch else { return nil }
        return min(origin.number, present.number)
    }

    private var bytes: [UInt8] {
        let (kind, key): (UInt8, Int64) =
            switch subject {
            case .database: (1, 0)
            case .zone(let key): (2, key)
            case .zoneReversed(let key, _): (3, key)
            }
        var parts: Parts = []
        if origin != nil { parts.insert(.origin) }
        if state != nil { parts.insert(.state) }
        var bytes = [parts.version, kind]
        bytes += Self.bytes(of: epoch) + Self.bytes(of: key) + Self.bytes(of: number)
        if case .zoneReversed(_, let walk) = subject { bytes += Self.bytes(of: walk.top) + Self.bytes(of: walk.bottom ?? -1) }
        if let origin { bytes += Self.bytes(of: origin.epoch) + Self.bytes(of: origin.number) }
        if let state { bytes += Self.bytes(of: state) }
        return bytes
    }

    private static func bytes(of value: Int64) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }
}

extension PartitionReader {
    /// Where the present history began; nil unless it began with a restore.
    func origin(of state: PartitionState) throws -> ChangeToken.Origin? {
        // No storage is asked for a database that was never restored.
        guard state.epoch > PartitionState().epoch, let point = try restorePoint(), point.nextEpoch == state.epoch else { return nil }
        return ChangeToken.Origin(epoch: point.epoch, number: point.counter)
    }
}
