// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Change tokens of zones, as responses contain them.
package struct FeedTokens: Sendable {
    let sealer: Sealer

    /// The present end of a zone's change feed, for a caller that follows it without reading its history.
    ///
    /// - Throws: `WireError` with `.zoneNotFound`.
    package func present(of zoneID: ZoneID, in view: any PartitionReader, _ call: Call) throws -> String {
        let zone = try ZoneAccess(view, call).liveZone(zoneID)
        var rights = RecordAccess(view, call)
        let feed = try call.partition.scope == .public ? rights.feed(call.partition) : call.feed(of: zone, in: view)
        return try token(of: zone, in: view, feed)
    }

    /// The present point of a zone that others shared with the caller.
    ///
    /// - Throws: `WireError` with `.zoneNotFound` if the caller has no part in it.
    package func shared(of zoneID: ZoneID, in view: any PartitionReader, _ call: Call) throws -> String {
        let zone = try ZoneAccess(view, call).liveZone(zoneID)
        return try token(of: zone, in: view, call.feed(of: zone, in: view))
    }

    /// The current token of a custom zone, if the caller requests it. It also covers changes of others that the caller has
    /// not received: it is a start for later changes.
    ///
    /// Source: public reports on `getCurrentSyncToken`.
    ///
    /// - Parameter isOwed: Whether the caller gets it without asking for it by the address.
    func requested(of zone: StoredZone, isOwed: Bool = false, in view: any PartitionReader, _ call: Call) throws -> String? {
        guard call.wantsSyncToken || isOwed, call.partition.scope == .private, !zone.isDefault,
            let zone = try view.zone(named: zone.name)
        else { return nil }
        return try token(of: zone, in: view, call.feed(of: zone, in: view))
    }

    /// The present point of a zone's history.
    func token(of zone: StoredZone, in view: any PartitionReader, _ feed: Partition) throws -> String {
        let state = try view.state()
        return token(of: zone, state, try view.origin(of: state), feed)
    }

    /// A point of a zone's history: the present one, or that of a change.
    func token(
        of zone: StoredZone, at number: Int64? = nil, _ state: PartitionState, _ origin: ChangeToken.Origin?, _ feed: Partition
    ) -> String {
        ChangeToken(subject: .zone(key: zone.key), epoch: state.epoch, number: number ?? zone.change, origin: origin)
            .sealed(for: feed, by: sealer)
    }
}
