// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Changes that are pushed to the owner's listening devices themselves, so that they fetch nothing.
struct FollowedChanges {
    let limits: Limits
    let sealer: Sealer

    /// The changes of a request in a zone, for the owner's devices that are up to date before it; nil if they are large, or
    /// if a response depends on the reader: shared records, and records with assets, whose addresses belong to a reader.
    ///
    /// - Parameters:
    ///   - changes: How many records changed.
    ///   - zone, before: State before the request, in the transaction that carried it out.
    func pushed(
        _ changes: Int, of batch: RecordBatch, in zone: StoredZone, _ before: PartitionState, _ view: any PartitionReader, _ call: Call
    ) throws -> PushedChanges? {
        // Fields have fewer bytes than their texts: a batch that is too long is not read.
        guard changes <= PushedChanges.recordsMax, batch.changedBytes <= PushedChanges.bytesMax else { return nil }
        var reader = call
        reader.form = AnswerForm()
        reader.capabilities = []
        let origin = try view.origin(of: before)
        let start = FeedTokens(sealer: sealer).token(of: zone, before, origin, call.partition)
        var query = ZoneChangesQuery(zoneID: call.zoneID(of: zone), syncToken: start)
        query.resultsLimit = PushedChanges.recordsMax
        guard
            case .changes(let page)? = try ChangeFeed(limits: limits, sealer: sealer).zoneChanges(
                ZoneChangesRequest(zones: [query]), asTexts: true, in: view, reader
            ).zones.first,
            let texts = page.texts, texts.byteCount <= PushedChanges.bytesMax, !texts.hasAssets, !page.moreComing
        else { return nil }
        let points = [before, try view.state()].map {
            ChangeToken(subject: .database, epoch: $0.epoch, number: $0.counter, origin: origin)
                .sealed(for: call.partition, by: sealer)
        }
        return PushedChanges(previousSyncToken: start, page: page, previousDatabaseToken: points[0], databaseToken: points[1])
    }
}
