// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The operator's own subscriptions in the three databases, each with a test notification: `…/subscriptions`.
struct SubscriptionPages {
    let parent: ContainerPages

    func respond() async throws -> ServiceResponse {
        guard parent.pathComponents.count == 1 else { return parent.problem("This page does not exist.", status: 404) }
        var rows: [[String: Any]] = []
        var sent: String?
        for scope in DatabaseScope.allCases {
            let response: SubscriptionsResponse = try await parent.ask(.listSubscriptions, nil, scope)
            for case .subscription(let subscription) in response.subscriptions {
                let id = subscription.subscriptionID
                if parent.visit.isPost, parent.visit.fields["scope"] == scope.rawValue, parent.visit.fields["id"] == id {
                    let audience = parent.service.announcements.sendTest(of: subscription, try await parent.call(scope, .writing))
                    sent = "A test notification of \(id) was sent to \(listeners(audience))."
                }
                rows.append(["id": id, "scope": scope.rawValue, "what": Self.text(subscription)])
            }
        }
        var values: [String: Any] = ["rows": rows]
        if let sent { values["sent"] = sent }
        return parent.page("subscriptions", values, title: "Subscriptions")
    }

    /// The hub has the devices of this process alone.
    private func listeners(_ audience: PushAudience) -> String {
        guard let hub = parent.pages.console.hub else { return "your devices that listen" }
        let count = hub.connections.count { $0.audience == audience }
        guard count > 0 else { return "your devices, none of which listens at this server now" }
        return "\(CountText.text(count, "listening device")) of yours"
    }

    private static func text(_ subscription: Subscription) -> String {
        switch subscription.kind {
        case .database: "any change in the database"
        case .zone(let zoneID): "changes in the zone \(zoneID.zoneName)"
        case .query(let query):
            "\(query.query.recordType): \(query.firesOn.map(\.rawValue).sorted().joined(separator: ", ")), \(CountText.text(query.query.filters.count, "filter"))"
        }
    }
}
