// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import ServiceFixtures
import StorageFixtures
import Synchronization
import TestBasics
import Testing

#if TARN_POSTGRES
    import TemporaryPostgres
#endif

@Suite struct RemoveUserTests {
    /// A user with rows in every table, and two other users.
    private struct Life {
        static let account = "amaryllis"
        static let day: Int64 = 86_400_000

        let village: Village
        let mia: Village.Villager
        let bo: Village.Villager
        let traces: Traces

        private static let photo: [UInt8] = Array("a photo of amaryllis".utf8)

        init(_ kind: ServerKind, days: Int64 = 30) async throws {
            village = try Village(place: ServerPlace(kind))
            let store = village.store
            try await store.keepHistory(milliseconds: days * Self.day, now: village.clock.now)
            bo = try await village.villager("bo")
            mia = try await village.villager(Self.account)
            try await store.updateProfile(ofUser: Self.account) {
                $0.name = NameComponents(givenName: "Amaryllis")
                $0.phoneNumber = "+49309876543"
            }
            try await store.setPassword("long enough", ofUser: Self.account)
            _ = try await store.addToken(userName: Self.account, deviceLabel: "phone", now: village.clock.now, expires: nil)
            let account = try #require(try await store.account(named: Self.account))
            try await store.startSession(
                WebSession(
                    account: account, use: .container(Village.container), environment: .development, isKept: true,
                    started: village.clock.now),
                id: [1, 2, 3], now: village.clock.now)
            try await (store as? any NetworkStorage)?.storeNetwork(
                "home", ofAccount: AttemptKey.account(account), now: village.clock.now)
            try await store.addIdentity(
                Identity(issuer: "https://id.example.org", subject: Self.account), ofUser: Self.account, now: village.clock.now)
            let secret = try await store.beginSecondFactor(ofAccount: account, now: village.clock.now)
            let code = TimeCode.code(of: secret, step: TimeCode.step(at: village.clock.now))
            #expect(try await store.confirmSecondFactor(ofAccount: account, code: code, now: village.clock.now) != nil)
            try await store.append(
                AuditEvent(time: village.clock.now, actor: .commandLine("root"), action: "user.add", subject: Self.account, outcome: .done))
            try await Self.fill(village, mia: mia, bo: bo)
            traces = try Traces(
                of: Self.account, in: village.place, digests: [store.sha256(Array(mia.token.utf8)), store.sha256([1, 2, 3])])
        }

        private static func fill(_ village: Village, mia: Village.Villager, bo: Village.Villager) async throws {
            let store = village.store
            let publicZone = ZoneID(zoneName: ZoneID.defaultZoneName)
            // Her own zone: a hierarchy shared with bo, an asset, an index, an earlier version, a reference.
            let asset = try await upload(mia, .private)
            var bed = Record.plant("bed")
            bed.fields["photo"] = Field(.asset(asset))
            var herb = Record.plant("herb", under: "bed")
            herb.fields["bed"] = Field(.reference(RecordReference(recordName: "bed", action: .deleteSelf)))
            try await mia.modify([
                RecordOperation(.create, bed), RecordOperation(.create, herb),
                RecordOperation(.create, .share("share", of: "bed", with: [.invited("bo")])),
            ])
            try await mia.modify([RecordOperation(.forceUpdate, .plant("herb")), RecordOperation(.create, .plant("weed"))])
            try await mia.modify([RecordOperation(.forceDelete, .plant("weed"))])
            let guid = try #require(try await mia.lookup("share")[0].record?.sharing.shortGUID)
            _ = try await bo.accept(guid)
            _ = try await upload(mia, .private, named: "unused")
            // A file that only an earlier version has.
            var old = Record.plant("old")
            old.fields["photo"] = Field(.asset(try await upload(mia, .private, named: "old", [1, 2, 3])))
            try await mia.modify([RecordOperation(.create, old)])
            try await mia.modify([RecordOperation(.forceDelete, old)])
            let query = QueryRecordsRequest(
                query: Query(recordType: "Plant", filters: [QueryFilter(.field("name"), .equals, .string("herb"))]), zoneID: mia.zone())
            _ = try await mia.ask(.private, .queryRecords, query, QueryRecordsResponse.self)
            var token = ModifyRecordsRequest(operations: [RecordOperation(.forceUpdate, .plant("herb"))], zoneID: mia.zone())
            token.clientChangeToken = [7]
            _ = await mia.send(.private, .modifyRecords, token.encoded(), key: "key-1")
            // His zones: she joined one share, is invited to another by address in capitals, and wrote a record.
            try await bo.modify([
                RecordOperation(.create, .plant("lawn")), RecordOperation(.create, .share("lawns", of: "lawn", with: [.invited(account)])),
            ])
            let joined = try #require(try await bo.lookup("lawns")[0].record?.sharing.shortGUID)
            _ = try await mia.accept(joined)
            try await mia.modify([RecordOperation(.create, .plant("rose", under: "lawn"))], of: bo)
            var person = ShareParticipant.invited(account)
            person.identity.lookupInfo = .emailAddress("Amaryllis@Example.org")
            try await bo.modify([
                RecordOperation(.create, .plant("pond")), RecordOperation(.create, .share("ponds", of: "pond", with: [person])),
            ])
            // The public database: her record and her user record, and his of her.
            let mine = ModifyRecordsRequest(
                operations: [RecordOperation(.create, Record(recordName: "post", recordType: "Post"))], zoneID: publicZone)
            _ = await mia.send(.public, .modifyRecords, mine.encoded(), key: "key-2")
            let user = RecordOperation(
                .forceUpdate, Record(recordName: mia.name, recordType: "Users", fields: ["name": Field(.string("Amaryllis"))]))
            _ = await mia.send(.public, .modifyRecords, ModifyRecordsRequest(operations: [user], zoneID: publicZone).encoded())
            let reference = Field(.reference(RecordReference(recordName: mia.name, action: .none)))
            let friend = RecordOperation(.create, Record(recordName: "friend", recordType: "Friend", fields: ["user": reference]))
            _ = await bo.send(.public, .modifyRecords, ModifyRecordsRequest(operations: [friend], zoneID: publicZone).encoded())
            for scope in [DatabaseScope.private, .shared] {
                let subscription = SubscriptionOperation.create(Subscription(subscriptionID: "all", kind: .database))
                _ = await mia.send(scope, .modifySubscriptions, SubscriptionsModifyRequest(operations: [subscription]).encoded())
            }
            let posts = Subscription(
                subscriptionID: "posts", kind: .query(QuerySubscription(query: Query(recordType: "Post"), firesOn: [.create])))
            _ = await mia.send(.public, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(posts)]).encoded())
            let own = Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name)
            try await store.write(own) {
                let group = StagedGroupKey(userRecordName: mia.name, deviceID: "d", id: "g")
                try $0.stage(StagedRequest(group: group, part: 0, parts: 2, body: [1], growth: 0), at: village.clock.now)
                try $0.post([ShareNews(user: bo.name, zoneName: Village.garden, isGone: false, change: 1)])
            }
            var everybody = own
            (everybody.scope, everybody.owner) = (.public, Partition.publicOwner)
            try await store.write(everybody) {
                try $0.addRole("Moderators")
                try $0.setRoles(["Moderators"], ofUser: mia.name)
            }
            try await store.setRestricted(
                true, user: mia.name, containerIdentifier: Village.container, environment: .production, now: village.clock.now)
        }

        private static func upload(
            _ mia: Village.Villager, _ scope: DatabaseScope, named name: String = "bed", _ bytes: [UInt8] = photo
        ) async throws -> AssetValue {
            let item = AssetUploadRequest.Item(recordType: "Plant", recordName: name, fieldName: "photo")
            let response = try await mia.ask(
                scope, .uploadAssets, AssetUploadRequest(items: [item], zoneID: mia.zone()), AssetUploadResponse.self)
            guard case .address(let address) = response.results.first else { throw WireError(.internalError, "no address") }
            let path = String(address.url.dropFirst("http://tarn.example".count))
            let answer = await mia.village.service.respond(
                to: ServiceRequest(method: "POST", path: path, body: .bytes(bytes), baseURL: "http://tarn.example"))
            guard case .bytes(let bytes) = answer.body else { throw WireError(.internalError, "no receipt") }
            return try AssetUploadReceipt(json: bytes).asset
        }

        @discardableResult
        func remove(_ records: AccountRemoval.PublicRecords = .remove, willRun: @escaping @Sendable () async throws -> Void = {})
            async throws -> RemovalReport
        {
            try await village.service.userRemoval.run(named: Self.account, publicRecords: records, storage: village.store, willRun: willRun)
        }

        /// Advances past all retention, and lets the server clean up.
        func letTimePass() async throws {
            village.clock.advance(seconds: 91 * 86_400)
            try await village.store.removeExpired(now: village.clock.now)
            try await village.store.removeAuditEvents(before: village.clock.now)
        }
    }

    /// Tables that the schema has for no person, or in which a person is in no row of this server.
    private static let impersonal: [String: String] = [
        "api_tokens": "Tokens of web pages.", "grants": "Rights of roles.", "meta": "The server's own values.", "roles": "Names of roles.",
        "schema_fields": "Types of a container.", "schema_types": "Types of a container.", "server_keys": "Keys of programs.",
        "used_marks": "Digests of programs' signatures.", "restores": "Made by a restore from a backup.",
        "counters": "Numbers of PostgreSQL's server.", "request_counts": "Hashes of senders, for two minutes.",
        "password_attempts": "Hashes of names and networks, for 15 minutes.",
        "password_networks": "PostgreSQL has one hash of an account and a network, for 30 days.",
        "object_parts": "Made by a move of a server with objects in S3; `MovedObjectTests` remove a partition with a row.",
    ]

    /// Rows that are kept, with their expiry.
    private static let kept: Set = [
        // The line that the account was made; the log has a retention.
        "audit",
        // The deletion of the shared zone in bo's list of shared zones, for 90 days.
        "zones",
    ]

    @Test(arguments: ServerKind.installed, AccountRemoval.PublicRecords.allCases)
    func removalLeavesNoTraceOfAPerson(_ kind: ServerKind, _ choice: AccountRemoval.PublicRecords) async throws {
        let life = try await Life(kind)
        let before = try life.traces.tables()
        let untested = Set(try TraceRow.tables(in: life.village.place)).subtracting(before).subtracting(Self.impersonal.keys)
        #expect(untested.isEmpty, "This test must fill the tables \(untested.sorted()), or list them as impersonal.")
        #expect(before.contains("password_networks") == (kind == .sqlite))
        #expect(life.traces.files().count > 2)
        #expect(life.traces.isInBytes("amaryllis@example.org") == (kind == .sqlite ? true : nil))

        let report = try await life.remove(choice)
        #expect(report.zones == 1)
        #expect(report.shares == 2)
        #expect(report.publicRecordsDeleted == (choice == .remove ? 1 : 0))
        #expect(try life.traces.tables() == Self.kept)
        #expect(life.traces.files().isEmpty)
        #expect(life.traces.isInBytes("amaryllis@example.org") == (kind == .sqlite ? false : nil))
        #expect(try await life.village.store.users().map(\.name) == ["bo"])

        try await life.letTimePass()
        #expect(try life.traces.tables().isEmpty)
    }

    @Test(arguments: ServerKind.installed) func participantsSeeTheZoneAsDeletedAndOthersKeepTheirRecords(_ kind: ServerKind) async throws {
        let life = try await Life(kind)
        let (bo, mia) = (life.bo, life.mia)
        let token = try await bo.sharedZones().syncToken
        try await life.remove()
        let changes = try await bo.sharedZones(since: token)
        #expect(changes.zones.map(\.zoneID) == [bo.zone(mia)])
        #expect(changes.zones.allSatisfy { $0.isDeleted })
        #expect(try await bo.changes(of: mia).error?.code == .zoneNotFound)
        let rose = try #require(try await bo.lookup("rose")[0].record)
        #expect(rose.created?.userRecordName == AccountRemoval.placeholder)
        let lawns = try #require(try await bo.lookup("lawns")[0].record?.sharing.details)
        #expect(lawns.participants.map(\.identity.userRecordName) == [bo.name])
        let ponds = try #require(try await bo.lookup("ponds")[0].record?.sharing.details)
        #expect(ponds.participants.count == 1)
    }

    @Test(arguments: ServerKind.installed) func aKeptPublicRecordHasNoCreatorAndIsFoundByNone(_ kind: ServerKind) async throws {
        let life = try await Life(kind)
        let everybody = Partition(
            containerIdentifier: Village.container, environment: .development, scope: .public, owner: Partition.publicOwner)
        try await life.village.store.write(everybody) { unit in
            var schema = try #require(try unit.schema(ofType: "Post"))
            schema.systemIndexes[.createdUserRecordName] = [.queryable]
            try unit.save(schema, ofType: "Post")
        }
        let byCreator = { (name: String) in
            Query(
                recordType: "Post",
                filters: [
                    QueryFilter(.system(.createdUserRecordName), .equals, .reference(RecordReference(recordName: name, action: .none)))
                ])
        }
        let zoneID = ZoneID(zoneName: ZoneID.defaultZoneName)
        let ask = { (name: String) in
            try await life.bo.ask(
                .public, .queryRecords, QueryRecordsRequest(query: byCreator(name), zoneID: zoneID), QueryRecordsResponse.self
            ).results.count
        }
        #expect(try await ask(life.mia.name) == 1)
        try await life.remove(.keep)
        #expect(try await ask(life.mia.name) == 0)
        #expect(try await ask(AccountRemoval.placeholder) == 1)
    }

    @Test(arguments: ServerKind.installed) func credentialsEndAtOnceAndTheNameIsFreeAtTheEnd(_ kind: ServerKind) async throws {
        let life = try await Life(kind)
        let store = life.village.store
        let account = try #require(try await store.account(named: Life.account))
        struct Stopped: Error {}
        let units = Mutex(0)
        await #expect(throws: Stopped.self) {
            try await life.remove {
                if units.withLock({
                    $0 += 1; return $0
                }) == 2 {
                    throw Stopped()
                }
            }
        }
        // Only the first unit ran.
        #expect(try await store.device(forToken: life.mia.token, now: 0) == nil)
        #expect(try await store.session(id: [1, 2, 3], now: 0) == nil)
        #expect(try await store.account(named: Life.account, password: "long enough") == nil)
        await #expect(throws: StorageFailure.self) { try await store.addToken(userName: Life.account, deviceLabel: "new", now: 0) }
        await #expect(throws: StorageFailure.self) { try await store.addUser(name: Life.account, deviceLabel: "new", now: 0) }
        // A request that was authenticated before cannot write.
        let own = Partition(containerIdentifier: Village.container, environment: .development, owner: life.mia.name)
        let terms = WorkTerms(requester: "\(WorkTerms.accountPrefix)\(account)", milliseconds: nil)
        await #expect(throws: WireError.self) { try await store.write(own, terms) { _ = try $0.raiseCounter(by: 1) } }

        try await life.remove()
        await #expect(throws: WireError.self) { try await store.write(own, terms) { _ = try $0.raiseCounter(by: 1) } }
        _ = try await store.addUser(name: Life.account, deviceLabel: "new", now: 0)
        // PostgreSQL's numbers are random.
        let next = try #require(try await store.account(named: Life.account))
        #expect(kind == .sqlite ? next > account : next != account, "the number is not given again")
    }

    @Test(arguments: ServerKind.installed) func aRemovalThatEndsBeforeAnyOfItsUnitsIsResumed(_ kind: ServerKind) async throws {
        let life = try await Life(kind)
        struct Killed: Error {}
        var isDone = false
        for allowed in stride(from: 1, to: 1000, by: 7) where !isDone {
            let units = Mutex(0)
            do {
                try await life.remove {
                    if units.withLock({
                        $0 += 1; return $0
                    }) > allowed {
                        throw Killed()
                    }
                }
                isDone = true
            } catch is Killed {}
        }
        #expect(isDone)
        #expect(try life.traces.tables() == Self.kept)
        #expect(life.traces.files().isEmpty)
    }

    @Test(arguments: ServerKind.installed) func unitsOfWorkAreBrief(_ kind: ServerKind) async throws {
        let life = try await Life(kind)
        let records = 1000
        for start in stride(from: 0, to: records, by: 200) {
            try await life.mia.modify((start..<start + 200).map { RecordOperation(.create, .plant("p\($0)")) })
        }
        let before = life.village.store.commits
        try await life.remove()
        // Records, their index entries and their rows in the share's list go in units of at most so many rows.
        #expect(life.village.store.commits - before > records / SQLiteServerStore.removalRowsMax)
    }

    #if TARN_POSTGRES
        /// Units of other processes run at the same time on PostgreSQL. One that had checked its account before the removal began commits
        /// after it.
        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func aRequestInFlightWhenTheRemovalBeginsLeavesNoTrace() async throws {
            let life = try await Life(.postgres)
            let (store, name) = (life.village.store, life.mia.name)
            let account = try #require(try await store.account(named: Life.account))
            let everybody = Partition(
                containerIdentifier: Village.container, environment: .development, scope: .public, owner: Partition.publicOwner)
            let terms = WorkTerms(requester: "\(WorkTerms.accountPrefix)\(account)", milliseconds: nil)
            let (entered, enter) = AsyncStream.makeStream(of: Void.self)
            let gate = DispatchSemaphore(value: 0)
            let writing = Task {
                try await store.write(everybody, terms) { unit in
                    enter.yield()
                    gate.wait()
                    var record = Record(recordName: "late", recordType: "Post", recordChangeTag: "1")
                    record.created = RecordStamp(timestamp: 1, userRecordName: name, deviceID: "d")
                    let change = try unit.raiseCounter(by: 1)
                    try unit.save([StoredRecord(record: record, change: change)], in: StoredZone.defaultKey, at: 1)
                }
            }
            for await _ in entered { break }
            let units = Mutex(0)
            let removing = Task { try await life.remove { units.withLock { $0 += 1 } } }
            try await until { try await store.device(forToken: life.mia.token, now: 0) == nil }
            // A removal that does not wait runs its next units now, and has read the records of the public database.
            for _ in 0..<200 where units.withLock({ $0 }) < 5 { _ = try await store.users() }
            #expect(units.withLock { $0 } == 1)
            gate.signal()
            try await writing.value
            _ = try await removing.value
            #expect(try life.traces.tables() == Self.kept)
        }
    #endif
}
