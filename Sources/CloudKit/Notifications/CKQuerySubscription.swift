// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A subscription to records of one type that are created, updated or deleted while they match a predicate.
///
/// Source: Apple's documentation of `CKQuerySubscription`.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {  // As its superclass.
    /// When a query subscription sends notifications.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt

        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Sends a notification when a record is created.
        public static let firesOnRecordCreation = Options(rawValue: 1)
        /// Sends a notification when a record is updated.
        public static let firesOnRecordUpdate = Options(rawValue: 2)
        /// Sends a notification when a record is deleted.
        public static let firesOnRecordDeletion = Options(rawValue: 4)
        /// The server deletes the subscription after its first notification.
        public static let firesOnce = Options(rawValue: 8)
    }

    /// The predicate that the records match.
    public let predicate: NSPredicate
    /// When the subscription sends notifications.
    public let querySubscriptionOptions: Options

    /// Creates a subscription with an identifier.
    public convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options querySubscriptionOptions: Options = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]
    ) {
        self.init(subscriptionID, predicate, querySubscriptionOptions, State(recordType: recordType))
    }

    /// Creates a subscription with a random identifier.
    @available(*, deprecated, message: "use init(recordType:predicate:subscriptionID:options:)")
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate, options: Options) {
        self.init(recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString, options: options)
    }

    private init(_ subscriptionID: ID, _ predicate: NSPredicate, _ options: Options, _ state: State) {
        self.predicate = predicate
        querySubscriptionOptions = options
        super.init(subscriptionID, .query, state)
    }

    convenience init(_ subscriptionID: ID, _ query: QuerySubscription, _ state: State, scope: CKDatabase.Scope) {
        self.init(
            subscriptionID, QueryPredicate.predicate(query.query.filters, scope: scope), Options(query), state)
    }

    /// Decodes an archived subscription. Returns `nil` if the archive is damaged.
    public required init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "subscription"),
            let subscription = try? Subscription(json: Array(Data(referencing: data))),
            case .query(let query) = subscription.kind
        else { return nil }
        predicate = QueryPredicate.predicate(query.query.filters, scope: .private)
        querySubscriptionOptions = Options(query)
        super.init(coder: coder)
    }

    /// The type of the records.
    public var recordType: CKRecord.RecordType? { stored.value.recordType }

    /// The zone with the records. `nil` means all zones.
    public var zoneID: CKRecordZone.ID? {
        get { stored.value.zoneID }
        set { stored.update { $0.zoneID = newValue } }
    }

    override func copied(_ state: State) -> CKSubscription {
        CKQuerySubscription(subscriptionID, predicate, querySubscriptionOptions, state)
    }

    override func kind() throws(CKError) -> Subscription.Kind {
        let query = Query(recordType: recordType ?? "", filters: try QueryPredicate.filters(predicate))
        return .query(
            QuerySubscription(
                query: query, firesOn: querySubscriptionOptions.events,
                firesOnce: querySubscriptionOptions.contains(.firesOnce), zoneID: zoneID?.wire))
    }
}

extension CKQuerySubscription.Options {
    fileprivate init(_ query: QuerySubscription) {
        self = query.firesOnce ? .firesOnce : []
        if query.firesOn.contains(.create) { insert(.firesOnRecordCreation) }
        if query.firesOn.contains(.update) { insert(.firesOnRecordUpdate) }
        if query.firesOn.contains(.delete) { insert(.firesOnRecordDeletion) }
    }

    fileprivate var events: Set<QuerySubscription.Event> {
        var events: Set<QuerySubscription.Event> = []
        if contains(.firesOnRecordCreation) { events.insert(.create) }
        if contains(.firesOnRecordUpdate) { events.insert(.update) }
        if contains(.firesOnRecordDeletion) { events.insert(.delete) }
        return events
    }
}
