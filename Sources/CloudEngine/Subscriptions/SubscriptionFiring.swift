// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Changes of one request that query subscriptions may fire for.
package struct SubscriptionRound: Sendable {
    let events: [RecordEvent]
    let zone: StoredZone
    package let call: Call

    /// Bytes of the rounds of one group of requests, which are in memory until the commit; later rounds of a larger group are skipped.
    static let groupBytesMax = 16_000_000

    var bytes: Int { events.reduce(0) { $0 + ($1.old.map(RecordSize.bytes) ?? 0) + ($1.new.map(RecordSize.bytes) ?? 0) } }

    var types: Set<String> { Set(events.compactMap { ($0.new ?? $0.old)?.recordType }) }

    /// The subscriptions themselves are read after the commit: the writer decodes no filters.
    ///
    /// - Returns: Nil if no query subscription can fire.
    init?(_ events: [RecordEvent], in zone: StoredZone, _ unit: any PartitionReader, _ call: Call) throws {
        guard !events.isEmpty, call.partition.scope != .shared else { return nil }
        self.events = events
        self.zone = zone
        self.call = call
        if call.partition.scope == .private, try unit.queriedTypes().isDisjoint(with: types) { return nil }
    }
}

/// What became of a round.
package struct FiredSubscriptions: Sendable {
    package var notifications: [PushNotification] = []
    /// Subscriptions that fire once and did.
    package var retired: [OwnedSubscription] = []
    /// Subscriptions that were not evaluated, since the work of the round was used up.
    package var skippedCount = 0
}

/// Evaluates query subscriptions after requests that changed records.
package struct SubscriptionFiring: Sendable {
    let limits: Limits
    let sealer: Sealer

    /// Evaluates the query subscriptions that a request's changes may concern, after the commit and on a reader.
    ///
    /// A creation or a change fires if the saved record matches the query, a deletion if the record that existed before
    /// did (unverified for changes after which a record no longer matches). In the public database subscribers are notified of records
    /// that they may read.
    ///
    /// All subscriptions together look at `Limits.subscriptionWorkPerRequest` bytes, those of one user in the public database at an eighth
    /// of it; the others are skipped, so that no subscription delays the saves of others. A skipped subscription costs a notification:
    /// change tokens still catch up.
    package func evaluate(_ round: SubscriptionRound, in reader: any PartitionReader) throws -> FiredSubscriptions {
        var firing = Firing(limits: limits, sealer: sealer, round: round, reader: reader)
        if round.call.partition.scope == .public {
            for recordType in round.types.sorted() {
                try reader.visitPublicSubscriptions(ofType: recordType) { owner, bytes, decode in
                    guard firing.begins(reading: bytes, of: owner) else { return true }
                    try firing.fire(OwnedSubscription(owner: owner, subscription: try decode()))
                    return true
                }
            }
        } else {
            let types = round.types
            try reader.visitSubscriptions { bytes, decode in
                let owner = round.call.partition.owner
                guard firing.begins(reading: bytes, of: owner) else { return true }
                let subscription = try decode()
                guard let type = subscription.queriedType, types.contains(type) else { return true }
                try firing.fire(OwnedSubscription(owner: owner, subscription: subscription))
                return true
            }
        }
        return firing.fired
    }

    /// Removes subscriptions that fire once and did.
    package func retire(_ subscriptions: [OwnedSubscription], in unit: any PartitionWriter, _ partition: Partition) throws {
        for owned in subscriptions {
            if partition.scope == .public {
                try unit.retire(owned)
            } else {
                try unit.removeSubscription(id: owned.subscription.subscriptionID)
            }
        }
    }
}

/// The evaluation of one round.
private struct Firing {
    /// Work of making one filter value ready, in bytes.
    private static let workPerFilterValue = 64

    let limits: Limits
    let sealer: Sealer
    let round: SubscriptionRound
    let reader: any PartitionReader
    private(set) var fired = FiredSubscriptions()
    private var schemas: [String: RecordTypeSchema] = [:]
    private var workByOwner: [String: Int] = [:]
    private var work = 0
    /// By event: each has one record that subscriptions look at.
    private var subjects: [Int: FilterSubject] = [:]

    init(limits: Limits, sealer: Sealer, round: SubscriptionRound, reader: any PartitionReader) {
        self.limits = limits
        self.sealer = sealer
        self.round = round
        self.reader = reader
    }

    /// Charges the bytes of a stored subscription.
    ///
    /// - Returns: `false` if the work of the round is used up: the subscription is skipped, and not decoded.
    mutating func begins(reading bytes: Int, of owner: String) -> Bool {
        let most = limits.subscriptionWorkPerRequest
        let ownerMost = round.call.partition.scope == .public ? most / 8 : most
        guard work < most, workByOwner[owner, default: 0] < ownerMost else {
            fired.skippedCount += 1
            return false
        }
        charge(bytes, to: owner)
        return true
    }

    private mutating func charge(_ bytes: Int, to owner: String) {
        work += bytes
        workByOwner[owner, default: 0] += bytes
    }

    mutating func fire(_ owned: OwnedSubscription) throws {
        guard case .query(let part) = owned.subscription.kind else { return }
        if let zoneID = part.zoneID, zoneID.zoneName != round.zone.name { return }
        charge(try evaluate(owned, part), to: owned.owner)
    }

    /// - Returns: The work done, in bytes looked at.
    private mutating func evaluate(_ owned: OwnedSubscription, _ part: QuerySubscription) throws -> Int {
        let (zone, call) = (round.zone, round.call)
        let recordType = part.query.recordType
        if schemas[recordType] == nil { schemas[recordType] = try reader.schema(ofType: recordType) }
        guard let schema = schemas[recordType] else { return Self.workPerFilterValue }
        // Filters that no longer fit the schema match nothing.
        let filters = part.query.filters.compactMap {
            try? CheckedFilter($0, in: schema, limits, caller: owned.owner, needsIndex: false)
        }
        var cost = Self.workPerFilterValue * part.query.filters.reduce(1) { $0 + $1.valueCount }
        guard filters.count == part.query.filters.count else { return cost }
        var readerCall = call
        readerCall.caller = Caller(userRecordName: owned.owner, deviceID: "")
        var access = RecordAccess(reader, readerCall)
        let shares = filters.contains { $0.field.subject == .system(.share) } ? try SharePresenter(reader, zone, call, sealer) : nil
        for (index, event) in round.events.enumerated() {
            guard let (record, reason) = event.subject(part.firesOn), record.recordType == recordType else { continue }
            let subject = try shares.map { FilterSubject(try $0.complete(record), inZone: zone.name) } ?? shared(index, record)
            let before = subject.work
            let isMatch = filters.allSatisfy { $0.matches(subject) }
            cost += subject.work - before
            guard isMatch, try access.allows(.read, subject.record) else { continue }
            fired.notifications.append(notification(owned, subject.record, reason))
            guard !part.firesOnce else {
                fired.retired.append(owned)
                return cost
            }
        }
        return cost
    }

    /// The subject of an event, which all subscriptions look at together.
    private mutating func shared(_ index: Int, _ record: Record) -> FilterSubject {
        if let subject = subjects[index] { return subject }
        let subject = FilterSubject(record, inZone: round.zone.name)
        subjects[index] = subject
        return subject
    }

    private func notification(_ owned: OwnedSubscription, _ record: Record, _ reason: PushNotification.Reason) -> PushNotification {
        let wish = owned.subscription.notification
        var match = PushNotification.Match(
            recordName: record.recordName, zoneID: round.call.zoneID(of: round.zone), scope: round.call.partition.scope,
            reason: reason)
        for name in wish.additionalFields ?? [] {
            if let field = record.fields[name], !field.isEncrypted, let value = field.value?.shortened { match.fields[name] = value }
        }
        var notification = PushNotification(
            notificationID: round.call.makeIdentifier(), containerIdentifier: round.call.partition.containerIdentifier,
            subscriptionID: owned.subscription.subscriptionID, subject: .query(match), userRecordName: owned.owner,
            isContentAvailable: wish.shouldSendContentAvailable)
        notification.alert = PushNotification.Alert(wish) { name in record.fields[name]?.value?.argument ?? "" }
        return notification
    }
}

extension RecordEvent {
    /// The record that a subscription evaluates, if it fires for this kind of change.
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
    /// The part of a field's value that a notification carries; nil for kinds it cannot carry.
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

extension QueryFilter {
    fileprivate var valueCount: Int { if case .list(let elements, _) = value { elements.count + 1 } else { 1 } }
}
