// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension NotificationWish: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "alertBody": alertBody = try reader.readString()
            case "alertLocalizationKey": alertLocalizationKey = try reader.readString()
            case "alertLocalizationArgs": alertLocalizationArgs = try reader.readStrings()
            case "title": title = try reader.readString()
            case "titleLocalizationKey": titleLocalizationKey = try reader.readString()
            case "titleLocalizationArgs": titleLocalizationArgs = try reader.readStrings()
            case "subtitle": subtitle = try reader.readString()
            case "subtitleLocalizationKey": subtitleLocalizationKey = try reader.readString()
            case "subtitleLocalizationArgs": subtitleLocalizationArgs = try reader.readStrings()
            case "alertActionLocalizationKey": alertActionLocalizationKey = try reader.readString()
            case "alertLaunchImage": alertLaunchImage = try reader.readString()
            case "soundName": soundName = try reader.readString()
            case "category": category = try reader.readString()
            case "shouldBadge": shouldBadge = try reader.readFlag()
            case "shouldSendContentAvailable": shouldSendContentAvailable = try reader.readFlag()
            case "shouldSendMutableContent": shouldSendMutableContent = try reader.readFlag()
            case "collapseIDKey": collapseIDKey = try reader.readString()
            case "additionalFields": additionalFields = try reader.readStrings()
            default: try reader.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("alertBody", alertBody)
            writer.member("alertLocalizationKey", alertLocalizationKey)
            writer.member("alertLocalizationArgs", alertLocalizationArgs)
            writer.member("title", title)
            writer.member("titleLocalizationKey", titleLocalizationKey)
            writer.member("titleLocalizationArgs", titleLocalizationArgs)
            writer.member("subtitle", subtitle)
            writer.member("subtitleLocalizationKey", subtitleLocalizationKey)
            writer.member("subtitleLocalizationArgs", subtitleLocalizationArgs)
            writer.member("alertActionLocalizationKey", alertActionLocalizationKey)
            writer.member("alertLaunchImage", alertLaunchImage)
            writer.member("soundName", soundName)
            writer.member("category", category)
            if shouldBadge { writer.member("shouldBadge", true) }
            if shouldSendContentAvailable { writer.member("shouldSendContentAvailable", true) }
            if shouldSendMutableContent { writer.member("shouldSendMutableContent", true) }
            writer.member("collapseIDKey", collapseIDKey)
            writer.member("additionalFields", additionalFields)
        }
    }
}

/// The keys of a subscription dictionary of any kind.
private struct SubscriptionKeys {
    private enum Kind: String { case query, zone, database }

    var subscriptionID: String?
    private var kind: Kind?
    private var zoneID: ZoneID?
    private var zoneWide: Bool?
    private var query: Query?
    private var firesOn: Set<QuerySubscription.Event> = []
    private var firesOnce = false
    private var notification = NotificationWish()

    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "subscriptionID": subscriptionID = try reader.readString()
        case "subscriptionType": kind = try reader.readChoice(orFault: "the subscriptionType is unknown")
        case "zoneID": zoneID = try ZoneID(from: &reader)
        case "zoneWide": zoneWide = try reader.readFlag()
        case "query": query = try Query(from: &reader)
        case "firesOn":
            firesOn = Set(
                try reader.readArray { (reader) throws(JSONFault) in
                    try reader.readChoice(QuerySubscription.Event.self, orFault: "the event in firesOn is unknown")
                })
        case "firesOnce": firesOnce = try reader.readFlag()
        case "notificationInfo": notification = try NotificationWish(from: &reader)
        default: return false
        }
        return true
    }

    mutating func readObject(from reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try !decode(key, from: &reader) { try reader.skipValue() }
        }
    }

    /// The subscription. `nil` if the dictionary states no kind. A missing identifier is left empty.
    func subscription(at start: Int) throws(JSONFault) -> Subscription? {
        guard let kind else { return nil }
        let value: Subscription.Kind
        switch kind {
        case .database: value = .database
        case .zone: value = .zone(try zoneID.required("the subscription has no zoneID", at: start))
        case .query:
            let query = try query.required("the subscription has no query", at: start)
            let zone = zoneID ?? (zoneWide == false ? .defaultZone : nil)
            value = .query(QuerySubscription(query: query, firesOn: firesOn, firesOnce: firesOnce, zoneID: zone))
        }
        return Subscription(subscriptionID: subscriptionID ?? "", kind: value, notification: notification)
    }
}

extension Subscription: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        let start = try reader.next()
        var keys = SubscriptionKeys()
        try keys.readObject(from: &reader)
        self = try keys.subscription(at: start).required("the subscription has no subscriptionType", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if !subscriptionID.isEmpty { writer.member("subscriptionID", subscriptionID) }
            switch kind {
            case .database: writer.member("subscriptionType", "database")
            case .zone(let zoneID):
                writer.member("subscriptionType", "zone")
                writer.member("zoneID", zoneID)
            case .query(let part):
                writer.member("subscriptionType", "query")
                writer.member("zoneID", part.zoneID)
                writer.member("zoneWide", part.zoneID == nil)
                writer.member("query", part.query)
                let events = QuerySubscription.Event.allCases.filter(part.firesOn.contains)
                writer.member("firesOn", events.map(\.rawValue))
                writer.member("firesOnce", part.firesOnce)
            }
            if notification != NotificationWish() { writer.member("notificationInfo", notification) }
        }
    }
}

extension SubscriptionOperation: WireMessage {
    private enum Kind: String { case create, update, delete }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        var kind: Kind?
        var keys: SubscriptionKeys?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": kind = try reader.readChoice(orFault: "the operationType is unknown")
            case "subscription":
                var subscription = SubscriptionKeys()
                try subscription.readObject(from: &reader)
                keys = subscription
            default: try reader.skipValue()
            }
        }
        let subscription = try keys.required("the operation has no subscription", at: start)
        switch try kind.required("the operation has no operationType", at: start) {
        case .delete:
            self = .delete(
                subscriptionID: try subscription.subscriptionID.required("the subscription has no subscriptionID", at: start))
        case .create:
            self = .create(
                try subscription.subscription(at: start).required("the subscription has no subscriptionType", at: start))
        case .update:
            self = .update(
                try subscription.subscription(at: start).required("the subscription has no subscriptionType", at: start))
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .create(let subscription):
                writer.member("operationType", Kind.create.rawValue)
                writer.member("subscription", subscription)
            case .update(let subscription):
                writer.member("operationType", Kind.update.rawValue)
                writer.member("subscription", subscription)
            case .delete(let subscriptionID):
                writer.member("operationType", Kind.delete.rawValue)
                writer.key("subscription")
                writer.object { $0.member("subscriptionID", subscriptionID) }
            }
        }
    }
}

extension SubscriptionsModifyRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(operations: try reader.readList("operations", orFault: "the request has no operations"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("operations", operations) }
    }
}

extension SubscriptionsLookupRequest: WireMessage {
    private struct Item: WireMessage {
        var subscriptionID: String

        init(subscriptionID: String) {
            self.subscriptionID = subscriptionID
        }

        init(from reader: inout JSONReader) throws(JSONFault) {
            let start = try reader.next()
            var keys = SubscriptionKeys()
            try keys.readObject(from: &reader)
            subscriptionID = try keys.subscriptionID.required("the subscription has no subscriptionID", at: start)
        }

        func write(to writer: inout JSONWriter) {
            writer.object { $0.member("subscriptionID", subscriptionID) }
        }
    }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        let items: [Item] = try reader.readList("subscriptions", orFault: "the request has no subscriptions")
        self.init(subscriptionIDs: items.map(\.subscriptionID))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("subscriptions", subscriptionIDs.map(Item.init)) }
    }
}

extension SubscriptionResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var keys = SubscriptionKeys()
        var error = ErrorKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try keys.decode(key, from: &reader) { continue }
            if try error.decode(key, from: &reader) { continue }
            try reader.skipValue()
        }
        if let error = error.error {
            self = .failure(subscriptionID: keys.subscriptionID ?? "", error)
            return
        }
        let subscriptionID = try keys.subscriptionID.required("the subscription has no subscriptionID", at: start)
        if let subscription = try keys.subscription(at: start) {
            self = .subscription(subscription)
        } else {
            self = .deleted(subscriptionID: subscriptionID)
        }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .subscription(let subscription): subscription.write(to: &writer)
        case .deleted(let subscriptionID):
            writer.object { writer in
                writer.member("subscriptionID", subscriptionID)
                writer.member("deleted", true)
            }
        case .failure(let subscriptionID, let error):
            writer.object { writer in
                // A subscription may be rejected before it gets an identifier.
                if !subscriptionID.isEmpty { writer.member("subscriptionID", subscriptionID) }
                error.writeMembers(to: &writer)
            }
        }
    }
}

extension SubscriptionsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(subscriptions: try reader.readList("subscriptions", orFault: "the response has no subscriptions"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("subscriptions", subscriptions) }
    }
}
