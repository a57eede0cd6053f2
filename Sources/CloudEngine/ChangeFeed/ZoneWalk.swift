// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// How far a caller has come in the changes of a zone, from oldest to newest or the other way.
struct ZoneWalk {
    private let zone: StoredZone
    private let epoch: Int64
    private let origin: ChangeToken.Origin?
    /// Of a walk from newest to oldest.
    private let reversed: ChangeToken.Walk?
    /// The part of the history that is still to come.
    private(set) var slice: ChangeSlice
    /// A client without a token needs no deletions.
    let includesDeleted: Bool

    /// Goes on from the token of a query. The token of a walk decides its direction.
    ///
    /// - Throws: `ChangeToken.expired`, ``ChangeToken/historyLost(_:_:_:)``, or an error of the storage.
    init(
        _ query: ZoneChangesQuery, _ zone: StoredZone, _ state: PartitionState, _ feed: Partition, _ sealer: Sealer,
        _ view: any PartitionReader, _ call: Call
    ) throws {
        self.zone = zone
        epoch = state.epoch
        origin = try view.origin(of: state)
        let token: ChangeToken? =
            if let text = query.syncToken { try ChangeToken(opening: text, for: feed, by: sealer) } else { nil }
        let saved = query.savedSyncToken.flatMap { try? ChangeToken(opening: $0, for: feed, by: sealer) }
        for known in [token, saved] {
            if let known, try !known.isKnown(to: state, view) { throw try known.historyLost(state, view, call) }
        }
        switch token?.subject {
        case .zoneReversed(zone.key, let walk)?:
            guard walk.bottom ?? zone.floor >= zone.floor else { throw ChangeToken.expired }
            reversed = walk
            slice = ChangeSlice(after: walk.bottom ?? 0, before: token?.number ?? 0, isNewestFirst: true)
            includesDeleted = walk.bottom != nil
            return
        case .zone(zone.key)?:
            guard let token, token.number >= zone.floor else { throw ChangeToken.expired }
        case nil: break
        // Of a zone of this name that was deleted: devices that meet the new one hear of it as those that met none.
        case .zone(let key)? where key < zone.key && zone.deletionReason == .encryptedDataReset:
            var error = ChangeToken.expired
            error.didResetEncryptedData = true
            throw error
        case .database?, .zone?, .zoneReversed?: throw ChangeToken.expired
        }
        includesDeleted = token != nil
        slice = ChangeSlice(after: token?.number ?? 0)
        guard query.reverse == true else {
            reversed = nil
            return
        }
        reversed = ChangeToken.Walk(top: max(zone.change, token?.number ?? 0), bottom: token?.number)
        slice.isNewestFirst = true
        slice.before = zone.change + 1
    }

    /// Remembers the last record of a page.
    mutating func advance(to change: Int64) {
        if slice.isNewestFirst { slice.before = change } else { slice.after = change }
    }

    /// Whether nothing can come any more.
    var isAtEnd: Bool { slice.isNewestFirst ? slice.before <= slice.after + 1 : slice.after >= zone.change }

    func token(moreComing: Bool) -> ChangeToken {
        let (subject, number): (ChangeToken.Subject, Int64) =
            switch (reversed, moreComing) {
            case (let walk?, true): (.zoneReversed(key: zone.key, walk), slice.before)
            case (let walk?, false): (.zone(key: zone.key), walk.top)
            case (nil, true): (.zone(key: zone.key), slice.after)
            case (nil, false): (.zone(key: zone.key), max(slice.after, zone.change))
            }
        return ChangeToken(subject: subject, epoch: epoch, number: number, origin: origin, readAt: zone.change)
    }
}
