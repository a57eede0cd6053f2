// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A request for notifications of changes, stored on the server.
///
/// Source: Apple's documentation of `CKSubscription` and its subclasses.
public class CKSubscription: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: mutable state is behind the lock of `stored`, here and in the subclasses.
    /// The type of a subscription's identifier.
    public typealias ID = String

    /// The kinds of subscriptions.
    public enum SubscriptionType: Int, Sendable {
        /// To records that match a predicate.
        case query = 1
        /// To a zone.
        case recordZone = 2
        /// To a database.
        case database = 3
    }

    struct State: Sendable {
        var notification: NotificationInfo?
        /// The zone of a query subscription. Other kinds store it and do not send it.
        var zoneID: CKRecordZone.ID?
        var recordType: CKRecord.RecordType?
    }

    /// The identifier, unique for the user and the database.
    public let subscriptionID: ID
    /// The kind of this subscription.
    public let subscriptionType: SubscriptionType
    let stored: Locked<State>

    init(_ subscriptionID: ID, _ type: SubscriptionType, _ state: State) {
        self.subscriptionID = subscriptionID
        subscriptionType = type
        stored = Locked(state)
    }

    /// How notifications appear. The setter copies; the returned object can be changed in place.
    public var notificationInfo: NotificationInfo? {
        get { stored.value.notification }
        set { stored.update { $0.notification = newValue.map { NotificationInfo($0.wire) } } }
    }

    /// - Throws: ``CKError`` with `.invalidArguments` for a query that the service cannot run.
    func kind() throws(CKError) -> Subscription.Kind { .database }

    final func wire() throws(CKError) -> Subscription {
        Subscription(
            subscriptionID: subscriptionID, kind: try kind(), notification: stored.value.notification?.wire ?? NotificationWish())
    }

    static func make(_ subscription: Subscription, scope: CKDatabase.Scope) -> CKSubscription? {
        var state = State(notification: NotificationInfo(nonEmpty: subscription.notification))
        switch subscription.kind {
        case .database: return CKDatabaseSubscription(subscription.subscriptionID, .database, state)
        case .zone(let zoneID):
            state.zoneID = CKRecordZone.ID(zoneID, scope: scope)
            return CKRecordZoneSubscription(subscription.subscriptionID, .recordZone, state)
        case .query(let query):
            state.zoneID = query.zoneID.map { CKRecordZone.ID($0, scope: scope) }
            state.recordType = query.query.recordType
            return CKQuerySubscription(subscription.subscriptionID, query, state, scope: scope)
        }
    }

    /// Returns an independent copy.
    public func copy(with zone: NSZone? = nil) -> Any {
        var state = stored.value
        state.notification = state.notification.map { NotificationInfo($0.wire) }
        return copied(state)
    }

    func copied(_ state: State) -> CKSubscription { CKSubscription(subscriptionID, subscriptionType, state) }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived subscription. Returns `nil` if the archive is damaged.
    public required init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "subscription"),
            let subscription = try? Subscription(json: Array(Data(referencing: data)))
        else { return nil }
        subscriptionID = subscription.subscriptionID
        var state = State(notification: NotificationInfo(nonEmpty: subscription.notification))
        switch subscription.kind {
        case .database: subscriptionType = .database
        case .zone: subscriptionType = .recordZone
        case .query(let query):
            subscriptionType = .query
            state.recordType = query.query.recordType
        }
        state.zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID")
        state.recordType = coder.decodeObject(of: NSString.self, forKey: "recordType") as String? ?? state.recordType
        stored = Locked(state)
    }

    /// Encodes the subscription.
    public func encode(with coder: NSCoder) {
        do throws(CKError) {
            coder.encode(NSData(data: Data(try wire().encoded())), forKey: "subscription")
        } catch {
            coder.failWithError(error)
        }
        coder.encode(stored.value.zoneID, forKey: "zoneID")
        coder.encode(stored.value.recordType.map { $0 as NSString }, forKey: "recordType")
    }
}

/// A subscription to all changes in the custom zones of a private or shared database.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {  // As its superclass.
    /// Creates a subscription with an identifier.
    public convenience init(subscriptionID: CKSubscription.ID) { self.init(subscriptionID, .database, State()) }

    /// Creates a subscription with a random identifier.
    @available(*, deprecated, message: "use init(subscriptionID:) with a name that you store")
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    /// Stored, without effect: the documentation contradicts itself about whether it filters the records (unverified).
    public var recordType: CKRecord.RecordType? {
        get { stored.value.recordType }
        set { stored.update { $0.recordType = newValue } }
    }

    override func copied(_ state: State) -> CKSubscription { CKDatabaseSubscription(subscriptionID, .database, state) }
}

/// A subscription to all changes in one custom zone of the private database.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {  // As its superclass.
    /// Creates a subscription to a zone.
    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID, .recordZone, State(zoneID: zoneID))
    }

    /// Creates a subscription with a random identifier.
    @available(*, deprecated, message: "use init(zoneID:subscriptionID:) with a name that you store")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    /// The zone.
    public var zoneID: CKRecordZone.ID { stored.value.zoneID ?? .default }

    /// Stored, without effect, as that of ``CKDatabaseSubscription``.
    public var recordType: CKRecord.RecordType? {
        get { stored.value.recordType }
        set { stored.update { $0.recordType = newValue } }
    }

    override func kind() throws(CKError) -> Subscription.Kind { .zone(zoneID.wire) }

    override func copied(_ state: State) -> CKSubscription { CKRecordZoneSubscription(subscriptionID, .recordZone, state) }
}
