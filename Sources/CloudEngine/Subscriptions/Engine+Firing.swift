// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension Engine {
    /// Notifications of the query subscriptions that fire for changes of records.
    ///
    /// A creation or a change fires if the record as it is now matches the query, a deletion if the record that was
    /// there did (unverified for changes by which a record stops to match). Subscriptions that fire once are removed.
    ///
    /// In the public database subscribers hear of records that they may read.
    ///
    /// - Parameter subscriptions: Those of the partition; looked up where it is the public one's.
    func notifications(
        for events: [RecordEvent], of subscriptions: [Subscription], in zone: StoredZone, _ unit: any PartitionWriter, _ call: Call
    ) throws -> [PushNotification] {
        guard !events.isEmpty, call.partition.scope != .shared else { return [] }
        var firing = Firing(engine: self, zone: zone, unit: unit, call: call)
        let types = Set(events.compactMap { ($0.new ?? $0.old)?.recordType })
        if call.partition.scope == .public {
            for recordType in types.sorted() {
                for owned in try unit.publicQuerySubscriptions(ofType: recordType) { try firing.fire(owned, for: events) }
            }
        } else {
            for subscription in subscriptions {
                guard case .query(let query) = subscription.kind, types.contains(query.query.recordType) else { continue }
                try firing.fire(OwnedSubscription(owner: call.partition.owner, subscription: subscription), for: events)
            }
        }
        return firing.notifications
    }

    /// Whether a query's filters fit the schema, if the type is known. Subscriptions need no indexes.
    func checkFilters(of query: Query, in view: any PartitionReader, _ call: Call) throws {
        guard query.filters.count <= limits.filtersPerQuery else {
            throw WireError(.badRequest, "a query has at most \(limits.filtersPerQuery) filters", nativeCode: .limitExceeded)
        }
        guard let schema = try view.schema(ofType: query.recordType) else { return }
        for filter in query.filters {
            _ = try CheckedFilter(filter, in: schema, limits, caller: call.caller.userRecordName, needsIndex: false)
        }
    }
}

/// One request's changes on their way to query subscriptions.
private struct Firing {
    let engine: Engine
    let zone: StoredZone
    let unit: any PartitionWriter
    let call: Call
    var notifications: [PushNotification] = []
    private var schemas: [String: RecordTypeSchema] = [:]

    init(engine: Engine, zone: StoredZone, unit: any PartitionWriter, call: Call) {
        self.engine = engine
        self.zone = zone
        self.unit = unit
        self.call = call
    }

    mutating func fire(_ owned: OwnedSubscription, for events: [RecordEvent]) throws {
        guard case .query(let part) = owned.subscription.kind else { return }
        if let zoneID = part.zoneID, zoneID.zoneName != zone.name { return }
        let recordType = part.query.recordType
        if schemas[recordType] == nil { schemas[recordType] = try unit.schema(ofType: recordType) }
        guard let schema = schemas[recordType] else { return }
        // Filters that no longer fit the schema match nothing.
        let filters = part.query.filters.compactMap {
            try? CheckedFilter($0, in: schema, engine.limits, caller: owned.owner, needsIndex: false)
        }
        guard filters.count == part.query.filters.count else { return }
        var reader = call
        reader.caller = Caller(userRecordName: owned.owner, deviceID: "")
        var access = RecordAccess(unit, reader)
        let shares = filters.contains { $0.field.subject == .system(.share) } ? try SharePresenter(unit, zone, call, engine.sealer) : nil
        for event in events {
            guard let (subject, reason) = event.subject(part.firesOn), subject.recordType == recordType else { continue }
            let record = try shares?.complete(subject) ?? subject
            guard filters.allSatisfy({ $0.matches(record, inZone: zone.name) }), try access.allows(.read, record) else { continue }
            notifications.append(notification(owned, record, reason))
            guard !part.firesOnce else {
                if call.partition.scope == .public {
                    try unit.retire(owned)
                } else {
                    try unit.removeSubscription(id: owned.subscription.subscriptionID)
                }
                return
            }
        }
    }

    private func notification(_ owned: OwnedSubscription, _ record: Record, _ reason: PushNotification.Reason) -> PushNotification {
        let wish = owned.subscription.notification
        var match = PushNotification.Match(
            recordName: record.recordName, zoneID: engine.zoneID(of: zone, call), scope: call.partition.scope, reason: reason)
        for name in wish.additionalFields ?? [] {
            if let field = record.fields[name], !field.isEncrypted, let value = field.value?.shortened { match.fields[name] = value }
        }
        var notification = PushNotification(
            notificationID: call.makeIdentifier(), containerIdentifier: call.partition.containerIdentifier,
            subscriptionID: owned.subscription.subscriptionID, subject: .query(match), userRecordName: owned.owner,
            isContentAvailable: wish.shouldSendContentAvailable)
        notification.alert = PushNotification.Alert(wish) { name in record.fields[name]?.value?.argument ?? "" }
        return notification
    }
}

extension RecordEvent {
    /// What a subscription looks at, if it fires for this kind of change.
    fileprivate func subject(_ firesOn: Set<QuerySubscription.Event>) -> (Record, PushNotification.Reason)? {
        switch (old, new) {
        case (nil, let new?): firesOn.contains(.create) ? (new, .recordCreated) : nil
        case (.some, let new?): firesOn.contains(.update) ? (new, .recordUpdated) : nil
        case (let old?, nil): firesOn.contains(.delete) ? (old, .recordDeleted) : nil
        case (nil, nil): nil
        }
    }
}

extension FieldValue {
    /// What a notification may carry of a field; nil for kinds it cannot carry.
    ///
    /// Source: Apple, `CKSubscription.NotificationInfo.desiredKeys`: texts are cut at 100 characters.
    fileprivate var shortened: FieldValue? {
        switch self {
        case .string(let text): .string(String(text.prefix(100)))
        case .int64, .double, .timestamp, .location, .reference: self
        case .bytes, .asset, .list: nil
        }
    }

    /// As an argument of a localised text.
    fileprivate var argument: String? {
        switch self {
        case .string(let text): String(text.prefix(100))
        case .int64(let number), .timestamp(let number): String(number)
        case .double(let number): number.description
        case .reference(let reference): reference.recordName
        case .bytes, .asset, .list, .location: nil
        }
    }
}
