// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Lists, saves and deletes the subscriptions of a database.
package struct SubscriptionRequests: Sendable {
    let limits: Limits

    package func list(in view: any PartitionReader, _ call: Call) throws -> SubscriptionsResponse {
        SubscriptionsResponse(subscriptions: try view.subscriptions().map { .subscription($0) })
    }

    package func lookup(
        _ request: SubscriptionsLookupRequest, in view: any PartitionReader, _ call: Call
    ) throws -> SubscriptionsResponse {
        try limits.checkCount(request.subscriptionIDs.count, of: "subscriptions", atMost: limits.recordsPerResponse)
        return SubscriptionsResponse(
            subscriptions: try request.subscriptionIDs.map { id in
                if let subscription = try view.subscription(id: id) { return .subscription(subscription) }
                return .failure(subscriptionID: id, WireError(.notFound, "subscription not found"))
            })
    }

    /// Saves and deletes subscriptions; each operation stands alone.
    ///
    /// A subscription that is saved again under its identifier takes the place of the old one.
    ///
    /// Source: *CloudKit Web Services Reference*, "Modifying Subscriptions".
    package func modify(
        _ request: SubscriptionsModifyRequest, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<SubscriptionsResponse> {
        try limits.checkCount(request.operations.count, of: "operations", atMost: limits.operationsPerRequest)
        let results: [SubscriptionResult] = try request.operations.map { operation in
            do {
                return try carryOut(operation, in: unit, call)
            } catch let error as WireError {
                return .failure(subscriptionID: operation.subscriptionID, error)
            }
        }
        return Outcome(SubscriptionsResponse(subscriptions: results))
    }

    private func carryOut(
        _ operation: SubscriptionOperation, in unit: any PartitionWriter, _ call: Call
    ) throws -> SubscriptionResult {
        switch operation {
        case .create(var subscription):
            if subscription.subscriptionID.isEmpty { subscription.subscriptionID = call.makeIdentifier() }
            try check(subscription, in: unit, call)
            let known = try unit.subscriptionIDs()
            guard known.count < limits.subscriptionsPerDatabase || known.contains(subscription.subscriptionID) else {
                throw WireError(
                    .quotaExceeded, "a database has at most \(limits.subscriptionsPerDatabase) subscriptions",
                    nativeCode: .limitExceeded)
            }
            // Devices create theirs again at each launch and when they connect again: nothing is written then.
            if known.contains(subscription.subscriptionID), try unit.subscription(id: subscription.subscriptionID) == subscription {
                return .subscription(subscription)
            }
            try checkRoom(for: subscription, in: unit, call)
            try unit.save(subscription)
            return .subscription(subscription)
        case .update(let subscription):
            try check(subscription, in: unit, call)
            guard try unit.subscription(id: subscription.subscriptionID) != nil else {
                throw WireError(.notFound, "subscription not found")
            }
            try checkRoom(for: subscription, in: unit, call)
            try unit.save(subscription)
            return .subscription(subscription)
        case .delete(let id):
            guard try unit.subscription(id: id) != nil else { throw WireError(.notFound, "subscription not found") }
            try unit.removeSubscription(id: id)
            return .deleted(subscriptionID: id)
        }
    }

    /// Subscriptions of a database take 16 times as much as one may at most, and a longer query fits into the quota. Subscriptions to zones and
    /// databases are short, and devices without them receive no pushes.
    private func checkRoom(for subscription: Subscription, in unit: any PartitionWriter, _ call: Call) throws {
        let growth = subscription.encoded().count - (try unit.subscription(id: subscription.subscriptionID)?.encoded().count ?? 0)
        guard case .query = subscription.kind, growth > 0 else { return }
        var bytes = growth
        try unit.visitSubscriptions { count, _ in
            bytes += count
            return true
        }
        guard bytes <= 16 * limits.subscriptionBytes else {
            throw WireError(
                .quotaExceeded, "the subscriptions of a database have at most \(16 * limits.subscriptionBytes) bytes",
                nativeCode: .limitExceeded)
        }
        if let left = try Quotas(limits: limits).bytesLeft(of: call.partition, in: unit), left < bytes { throw Quotas.exceeded }
    }

    /// Source: *CloudKit Web Services Reference*, "Subscription Dictionary": which kinds a database supports.
    private func check(_ subscription: Subscription, in unit: any PartitionWriter, _ call: Call) throws {
        if NameChecks.record(subscription.subscriptionID, limits) != nil {
            throw WireError(
                .badRequest, "a subscription identifier has 1 to \(limits.recordNameCharacters) ASCII characters other than U+0000")
        }
        guard subscription.encoded().count <= limits.subscriptionBytes else {
            throw WireError(
                .badRequest, "a subscription has at most \(limits.subscriptionBytes) bytes", nativeCode: .limitExceeded)
        }
        let kind = "subscriptions of this kind are not supported in the \(call.partition.scope.rawValue) database"
        switch (subscription.kind, call.partition.scope) {
        case (.database, .private), (.database, .shared), (.zone, .private), (.query, .private), (.query, .public): break
        case (.database, .public), (.zone, .public), (.zone, .shared), (.query, .shared): throw WireError(.badRequest, kind)
        }
        switch subscription.kind {
        case .database:
            return
        case .zone(let zoneID):
            try ZoneAccess(unit, call).checkOwner(of: zoneID)
            if let error = NameChecks.zone(zoneID.zoneName, limits) { throw error }
        case .query(let query):
            guard !query.firesOn.isEmpty else { throw WireError(.badRequest, "a query subscription needs firesOn") }
            if let error = NameChecks.recordType(query.query.recordType) { throw error }
            guard (subscription.notification.additionalFields ?? []).count <= limits.fieldsPerNotification else {
                throw WireError(.badRequest, "a notification carries at most \(limits.fieldsPerNotification) fields")
            }
            try checkFilters(of: query.query, in: unit, call)
        }
    }

    /// Whether a query's filters fit the schema, if the type is known. Subscriptions need no indexes.
    private func checkFilters(of query: Query, in view: any PartitionReader, _ call: Call) throws {
        guard query.filters.count <= limits.filtersPerQuery else {
            throw WireError(.badRequest, "a query has at most \(limits.filtersPerQuery) filters", nativeCode: .limitExceeded)
        }
        guard let schema = try view.schema(ofType: query.recordType) else { return }
        for filter in query.filters {
            _ = try CheckedFilter(filter, in: schema, limits, caller: call.caller.userRecordName, needsIndex: false)
        }
    }
}
