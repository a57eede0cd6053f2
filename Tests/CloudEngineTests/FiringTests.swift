// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

@Suite struct FiringTests {
    private func subscribe(
        _ bench: Bench, _ id: String, _ query: Query, on events: Set<QuerySubscription.Event> = [.create, .update, .delete],
        once: Bool = false,
        zone: ZoneID? = nil, wish: NotificationWish = .silent, as call: Call? = nil
    ) async throws -> WireError? {
        let part = QuerySubscription(query: query, firesOn: events, firesOnce: once, zoneID: zone)
        let request = SubscriptionsModifyRequest(operations: [
            .create(Subscription(subscriptionID: id, kind: .query(part), notification: wish))
        ])
        let results = try await bench.write(call) { try $0.subscriptions.modify(request, in: $1, $2).response.subscriptions }
        if case .failure(_, let error) = results[0] { return error }
        return nil
    }

    /// `id:reason:record` of each notification of a query subscription.
    private func save(_ bench: Bench, _ operations: RecordOperation..., in zone: ZoneID = Bench.garden, as call: Call? = nil) async throws
        -> [PushNotification]
    {
        let request = ModifyRecordsRequest(operations: operations, zoneID: zone, atomic: false)
        let outcome = try await bench.write(call) { try $0.records.modify(request, in: $1, $2) }
        var notifications = outcome.notifications
        for round in outcome.rounds {
            let fired = try await bench.read(round.call) { engine, reader, _ in try engine.firing.evaluate(round, in: reader) }
            notifications += fired.notifications
            try await bench.write(round.call) { engine, unit, call in try engine.firing.retire(fired.retired, in: unit, call.partition) }
        }
        return notifications
    }

    private func picture(_ notifications: [PushNotification]) -> String {
        notifications.compactMap { notification in
            guard case .query(let match) = notification.subject else { return nil }
            return "\(notification.subscriptionID):\(match.reason.rawValue):\(match.recordName)"
        }.joined(separator: " ")
    }

    private let tall = Query.plants(QueryFilter(.field("height"), .greaterThan, .double(1)))

    @Test func aChangeFiresWhereTheRecordMatches() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p0", ["height": .double(0)])))
        #expect(try await subscribe(bench, "tall", tall) == nil)
        #expect(try await subscribe(bench, "new", .plants(), on: [.create]) == nil)
        #expect(try await subscribe(bench, "yard", .plants(), zone: ZoneID(zoneName: "Yard")) == nil)
        #expect(try await subscribe(bench, "trees", Query(recordType: "Tree")) == nil)
        let made = try await save(
            bench, .init(.create, .plant("a", ["height": .double(2)])), .init(.create, .plant("b", ["height": .double(1)])))
        #expect(picture(made) == "new:1:a new:1:b tall:1:a")
        #expect(picture(try await save(bench, .init(.forceUpdate, .plant("b", ["height": .double(3)])))) == "tall:2:b")
        #expect(picture(try await save(bench, .init(.forceUpdate, .plant("b", ["height": .double(1)])))) == "")
        #expect(picture(try await save(bench, .init(.forceDelete, .plant("a")), .init(.forceDelete, .plant("b")))) == "tall:3:a")
        #expect(picture(try await save(bench, .init(.update, .plant("none", tag: "1")))) == "")
        #expect(picture(try await save(bench, .init(.create, .plant("d", ["height": .double(9)])), in: .defaultZone)) == "new:1:d tall:1:d")
    }

    @Test func recordsThatGoWithOthersFireToo() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("root")), .init(.create, .plant("leaf", .deleteSelf, to: "root")))
        #expect(try await subscribe(bench, "gone", .plants(), on: [.delete]) == nil)
        #expect(picture(try await save(bench, .init(.forceDelete, .plant("root")))) == "gone:3:root gone:3:leaf")
    }

    @Test func aSubscriptionThatFiresOnceIsDeleted() async throws {
        let bench = try await Bench.withGarden()
        #expect(try await subscribe(bench, "once", .plants(), once: true) == nil)
        #expect(picture(try await save(bench, .init(.create, .plant("a")), .init(.create, .plant("b")))) == "once:1:a")
        #expect(picture(try await save(bench, .init(.create, .plant("c")))) == "")
        #expect(try await bench.read { try $0.subscriptions.list(in: $1, $2).subscriptions.isEmpty })
    }

    @Test func aNotificationCarriesWhatWasAskedFor() async throws {
        let bench = try await Bench.withGarden()
        var wish = NotificationWish()
        wish.additionalFields = ["name", "height", "secret"]
        wish.alertLocalizationKey = "NEW"
        wish.alertLocalizationArgs = ["name", "gone"]
        wish.soundName = "bell"
        wish.title = "Garden"
        wish.titleLocalizationKey = "TITLE"
        wish.titleLocalizationArgs = ["height"]
        wish.subtitle = "Plants"
        wish.subtitleLocalizationKey = "SUBTITLE"
        wish.subtitleLocalizationArgs = ["gone"]
        #expect(try await subscribe(bench, "s", .plants(), wish: wish) == nil)
        var record = Record.plant("a", ["name": .string(String(repeating: "x", count: 200)), "height": .double(2)])
        record.fields["secret"] = Field(.string("x"), isEncrypted: true)
        let notification = try #require(
            try await save(bench, .init(.create, record)).first { if case .query = $0.subject { true } else { false } })
        guard case .query(let match) = notification.subject else { return }
        let cut = String(repeating: "x", count: 100)
        #expect(match.fields == ["name": .string(cut), "height": .double(2)])
        #expect(notification.alert?.localizationArgs == [cut, ""])
        #expect(notification.alert?.soundName == "bell")
        #expect(notification.alert?.title == "Garden")
        #expect(notification.alert?.titleLocalizationKey == "TITLE")
        #expect(notification.alert?.titleLocalizationArgs == ["2.0"])
        #expect(notification.alert?.subtitle == "Plants")
        #expect(notification.alert?.subtitleLocalizationKey == "SUBTITLE")
        #expect(notification.alert?.subtitleLocalizationArgs == [""])
        #expect(!notification.isContentAvailable)
        #expect(notification.userRecordName == "_mia")
        #expect(try PushNotification(json: notification.encoded()) == notification)

        wish.additionalFields = ["a", "b", "c", "d"]
        #expect(try await subscribe(bench, "t", .plants(), wish: wish)?.code == .badRequest)
    }

    @Test func subscriptionsToZonesAndDatabasesHaveTheirAlert() async throws {
        let bench = try await Bench.withGarden()
        var wish = NotificationWish()
        wish.alertBody = "The garden changed"
        wish.title = "Garden"
        wish.alertLocalizationKey = "CHANGED"
        wish.alertLocalizationArgs = ["name"]
        let request = SubscriptionsModifyRequest(operations: [
            .create(Subscription(subscriptionID: "database", kind: .database, notification: wish)),
            .create(Subscription(subscriptionID: "zone", kind: .zone(Bench.garden), notification: wish)),
            .create(Subscription(subscriptionID: "silent", kind: .database, notification: .silent)),
        ])
        _ = try await bench.write { try $0.subscriptions.modify(request, in: $1, $2).response }
        let notifications = try await save(bench, .init(.create, .plant("a")))
        func alert(_ id: String) -> PushNotification.Alert? { notifications.first { $0.subscriptionID == id }?.alert }
        #expect(alert("database")?.body == "The garden changed")
        #expect(alert("database")?.title == "Garden")
        #expect(alert("database")?.localizationArgs == [""])
        #expect(alert("zone")?.body == "The garden changed")
        #expect(alert("silent") == nil)
        #expect(notifications.count == 3)
    }

    @Test func aQueryThatCannotBeIsRefusedWhenItIsSaved() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p0", ["height": .double(0)])))
        #expect(
            try await subscribe(bench, "s", .plants(QueryFilter(.field("colour"), .equals, .int64(1))))?.reason == "Unknown field 'colour'")
        #expect(
            try await subscribe(bench, "s", .plants(QueryFilter(.field("height"), .equals, .string("x"))))?.reason
                == "Invalid value, expected type DOUBLE")
        #expect(try await subscribe(bench, "s", .plants(), on: [])?.code == .badRequest)
    }

    @Test func inThePublicDatabaseSubscribersHearOfWhatTheyMayRead() async throws {
        let bench = try Bench()
        func call(_ user: String, subscriptions: Bool = false) -> Call {
            var call = bench.call(user: user)
            call.partition.scope = .public
            call.partition.owner = subscriptions ? user : Partition.publicOwner
            return call
        }
        for (user, once) in [("_bo", false), ("_ana", true)] {
            #expect(try await subscribe(bench, "s", .plants(), once: once, as: call(user, subscriptions: true)) == nil)
        }
        let first = try await save(bench, .init(.create, .plant("a")), in: .defaultZone, as: call("_mia"))
        #expect(first.map(\.userRecordName) == ["_ana", "_bo"] || first.map(\.userRecordName) == ["_bo", "_ana"])
        let second = try await save(bench, .init(.create, .plant("b")), in: .defaultZone, as: call("_mia"))
        #expect(second.map(\.userRecordName) == ["_bo"])
        try await bench.write { _, unit, _ in
            try unit.setGrants(SecurityGrants(byRole: ["_icloud": .create, "_creator": .read]), ofType: "Plant")
        }
        #expect(try await save(bench, .init(.create, .plant("c")), in: .defaultZone, as: call("_mia")).isEmpty)
        #expect(try await save(bench, .init(.create, .plant("d")), in: .defaultZone, as: call("_bo")).map(\.userRecordName) == ["_bo"])
        let delete = SubscriptionsModifyRequest(operations: [.delete(subscriptionID: "s")])
        _ = try await bench.write(call("_bo", subscriptions: true)) { try $0.subscriptions.modify(delete, in: $1, $2) }
        #expect(try await save(bench, .init(.create, .plant("e")), in: .defaultZone, as: call("_bo")).isEmpty)
    }

    /// Subscriptions are evaluated after the commit; a user with costly ones uses up their own share.
    @Test func costlySubscriptionsOfOneUserAreSkipped() async throws {
        var limits = Limits()
        limits.subscriptionWorkPerRequest = 100_000
        let bench = try Bench(limits: limits)
        func call(_ user: String) -> Call {
            var call = bench.call(user: user)
            call.partition.scope = .public
            call.partition.owner = user
            return call
        }
        let values = FieldValue.list((0..<256).map { .string("v\($0)") }, of: .string)
        var author = call("_mia")
        author.partition.owner = Partition.publicOwner
        _ = try await save(bench, .init(.create, .plant("first", ["name": .string("x")])), in: .defaultZone, as: author)
        for number in 0..<10 {
            let costly = Query.plants(QueryFilter(.field("name"), .isNotIn, values))
            #expect(try await subscribe(bench, "c\(number)", costly, as: call("_ann")) == nil)
        }
        #expect(try await subscribe(bench, "cheap", .plants(), as: call("_bob")) == nil)
        let request = ModifyRecordsRequest(operations: [.init(.create, .plant("p1", ["name": .string("Sage")]))], zoneID: .defaultZone)
        let outcome = try await bench.write(author) { try $0.records.modify(request, in: $1, $2) }
        #expect(outcome.notifications.isEmpty, "nothing was evaluated in the transaction")
        let round = try #require(outcome.rounds.first)
        let fired = try await bench.read(author) { engine, reader, _ in try engine.firing.evaluate(round, in: reader) }
        #expect(fired.skippedCount > 0)
        #expect(fired.notifications.contains { $0.subscriptionID == "cheap" })
        #expect(fired.notifications.contains { $0.subscriptionID == "c0" })
    }
}
