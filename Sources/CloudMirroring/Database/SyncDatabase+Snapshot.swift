// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Crypto
import MirroringCore
import Synchronization

/// Bytes of a snapshot that arrived and are not applied: the frames of one request are used one after the other.
final class SnapshotBuffer: Sendable {
    private struct State {
        var identifier = ""
        /// Where the bytes begin in the snapshot.
        var offset: Int64 = 0
        var bytes: [UInt8] = []
    }

    private let state = Mutex(State())

    /// The bytes from an offset on; none if they are not there.
    func bytes(of identifier: String, from offset: Int64) -> ArraySlice<UInt8> {
        state.withLock { state in
            guard state.identifier == identifier, offset >= state.offset, offset - state.offset <= Int64(state.bytes.count) else {
                return []
            }
            return state.bytes[Int(offset - state.offset)...]
        }
    }

    func keep(_ bytes: [UInt8], of identifier: String, from offset: Int64) {
        state.withLock { $0 = State(identifier: identifier, offset: offset, bytes: bytes) }
    }

    func clear() { state.withLock { $0 = State() } }
}

/// A snapshot is read as change pages are: each frame, or a part of one, becomes a page of the zone's chain, and is followed by the pages
/// of the feed. A position behind a frame has the frame's change token, so that change pages continue where a snapshot cannot.
///
///     snapshot ── frame ── frame ── frame ┐
///                            └ damaged    └─ pages of the feed
///                              or missing: pages of the feed from the frame before
extension SyncDatabase {
    /// Bytes that one request for a snapshot reads; more for a longer frame.
    private static let snapshotRequestBytes = 4_000_000

    /// Why change pages have to continue.
    private struct Unusable: Error {}

    /// A frame that arrived whole.
    private struct Frame {
        /// One `ZoneChangesResult` as JSON.
        var body: [UInt8]
        var digest: [UInt8]
        /// The offset behind the frame.
        var end: Int64

        /// Returns the position behind the frame.
        func position(after position: SnapshotPosition, syncToken: String) -> SnapshotPosition {
            var next = position
            (next.offset, next.digest, next.recordsRead, next.syncToken) = (end, digest, 0, syncToken)
            return next
        }
    }

    /// Returns the records at a position of a snapshot, as a page.
    ///
    /// - Parameters:
    ///   - recordsMax: The largest number of records; nil for the whole frame, which is decoded once then.
    ///   - isStaging: Whether the page is staged behind others, which a frame without assets is as it arrived.
    ///   - announce: Receives the position behind the frame before the frame is decoded.
    /// - Returns: nil if the server no longer has the snapshot, or if it is damaged.
    /// - Throws: An error of the connection, after which the same position is read again.
    func snapshotPage(
        at position: SnapshotPosition, of zone: ZoneTable.Row, recordsMax: Int? = nil, isStaging: Bool = false,
        announce: @Sendable (String) -> Void = { _ in }
    ) async throws -> FetchedPage? {
        do {
            let frame = try await frame(at: position)
            if isStaging, recordsMax == nil, let page = undecoded(frame, at: position, of: zone) {
                announce(page.token)
                return .undecoded(page)
            }
            if recordsMax == nil, let token = ZoneChangesResult.tokenIfMoreComing(json: frame.body) {
                announce(frame.position(after: position, syncToken: token).text)
            }
            var changes = try changes(in: frame, at: position, of: zone.zone.id)
            let rest = changes.records.count - position.recordsRead
            guard rest >= 0, rest > 0 || position.recordsRead == 0 else { throw Unusable() }
            changes.records = Array(changes.records.dropFirst(position.recordsRead).prefix(recordsMax ?? .max))
            var next = position
            var token: String?
            if changes.records.count < rest {
                next.recordsRead += changes.records.count
            } else {
                next = frame.position(after: position, syncToken: changes.syncToken)
                if !changes.moreComing {
                    token = changes.syncToken
                    snapshots.clear()
                }
            }
            changes.records = try await withAddresses(changes.records, in: zone.zone.id)
            changes.syncToken = token ?? next.text
            changes.moreComing = true
            changes.remaining = nil
            var page = try page(changes, of: zone.zone.id, askedWith: zone.token, generation: zone.isFullFetch ? zone.generation : nil)
            page.exportedToken = zone.exportedToken
            return .decoded(page)
        } catch is Unusable {
            snapshots.clear()
            return nil
        }
    }

    /// Returns a frame that can be staged as it arrived; nil for one that has to be decoded first.
    private func undecoded(_ frame: Frame, at position: SnapshotPosition, of zone: ZoneTable.Row) -> UndecodedPage? {
        guard position.recordsRead == 0, let outline = ZoneChangesResult.outlineIfMoreComing(json: frame.body), !outline.hasAssets else {
            return nil
        }
        if let end = position.end, frame.end >= end.byteCount { return nil }
        return UndecodedPage(
            body: frame.body, recordCount: outline.recordCount, askedWith: zone.token,
            token: frame.position(after: position, syncToken: outline.syncToken).text,
            generation: zone.isFullFetch ? zone.generation : nil)
    }

    private func frame(at position: SnapshotPosition) async throws -> Frame {
        let rest = (position.end?.byteCount ?? SnapshotPosition.bytesMax) - position.offset
        var bytes = snapshots.bytes(of: position.identifier, from: position.offset)
        func fetch(_ count: Int) async throws {
            try Task.checkCancellation()
            let fetched = try await client.snapshotBytes(position.identifier, from: position.offset, atMost: Int(min(Int64(count), rest)))
            guard let fetched else { throw Unusable() }
            snapshots.keep(fetched, of: position.identifier, from: position.offset)
            bytes = fetched[...]
        }
        if bytes.count < SnapshotFrame.headBytes { try await fetch(Self.snapshotRequestBytes) }
        guard let head = SnapshotFrame.head(bytes), head.length <= Limits.messageBytes else { throw Unusable() }
        let length = SnapshotFrame.headBytes + head.length
        guard Int64(length) <= rest else { throw Unusable() }
        if bytes.count < length { try await fetch(max(length, Self.snapshotRequestBytes)) }
        guard bytes.count >= length, SnapshotFrame.head(bytes) == head else { throw Unusable() }
        let body = Array(bytes.dropFirst(SnapshotFrame.headBytes).prefix(head.length))
        var hash = SHA256()
        hash.update(data: position.digest)
        hash.update(data: body)
        guard hash.finalize().elementsEqual(head.digest) else { throw Unusable() }
        return Frame(body: body, digest: head.digest, end: position.offset + Int64(length))
    }

    /// - Returns: The records of a frame; `moreComing` is false for the last one.
    private func changes(in frame: Frame, at position: SnapshotPosition, of zone: ZoneID) throws -> ZoneChanges {
        guard case .changes(let changes)? = try? ZoneChangesResult(json: frame.body), changes.zoneID.zoneName == zone.zoneName,
            changes.records.allSatisfy({ !$0.isDeleted })
        else { throw Unusable() }
        if let last = position.end {
            let isLast = frame.end == last.byteCount
            guard isLast == !changes.moreComing, !isLast || frame.digest == last.digest else { throw Unusable() }
        }
        return changes
    }

    /// Replaces records with assets by their present versions, which have addresses.
    ///
    /// A record that is newer than the snapshot comes again with the feed, and one that is missing was deleted, which the feed says as
    /// well.
    private func withAddresses(_ records: [Record], in zone: ZoneID) async throws -> [Record] {
        let names = records.filter(\.hasAssets).map(\.recordName)
        guard !names.isEmpty else { return records }
        var present: [String: Record] = [:]
        for result in try await results(of: names, in: zone) {
            switch result {
            case .record(let record) where !record.isDeleted: present[record.recordName] = record
            case .record: break
            case .failure(_, let error, _) where error.code == .notFound: break
            // Whether the record is there is not known, and one that no page has counts as deleted.
            case .failure(_, let error, _): throw CloudFailure(error)
            }
        }
        return records.compactMap { $0.hasAssets ? present[$0.recordName] : $0 }
    }
}
