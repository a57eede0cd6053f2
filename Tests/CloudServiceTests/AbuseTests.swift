// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Crypto
import ServiceFixtures
import TestBasics
import Testing

/// Requests of clients that try to exceed their share of the server, or to read data of others.
@Suite struct AbuseTests {
    /// Sends a request as it is.
    private func send(
        _ village: Village, _ method: String, _ path: String, token: String? = nil, network: String = "192.0.2.1", _ body: [UInt8] = [],
        headers: [String: String] = [:]
    ) async -> (status: Int, body: [UInt8]) {
        var headers = headers
        if let token { headers["authorization"] = "Bearer \(token)" }
        let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
        let response = await village.service.respond(
            to: ServiceRequest(
                method: method, path: parts[0], query: parts.count > 1 ? parts[1] : "", headers: RequestHeaders(headers),
                body: .bytes(body),
                baseURL: "http://tarn.example", network: network))
        guard case .bytes(let bytes) = response.body else { return (response.status, []) }
        return (response.status, bytes)
    }

    // MARK: Rate limits

    @Test func namingOtherContainersDoesNotHelp() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 3
        let village = try Village(limits: limits)
        let token = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        var statuses: [Int] = []
        for number in 0..<3 {
            statuses.append(
                await send(village, "GET", "/database/1/iCloud.org.c\(number)/development/private/zones/list", token: token).status)
        }
        let body = WebAuthTokenRequest(apiToken: "none").encoded()
        statuses.append(await send(village, "POST", "/device/1/iCloud.org.x/development/tokens/webAuth", token: token, body).status)
        #expect(statuses == [200, 200, 200, 429])
        var anonymous: [Int] = []
        for number in 0..<4 {
            anonymous.append(await send(village, "GET", "/database/1/iCloud.org.c\(number)/development/public/zones/list").status)
        }
        #expect(anonymous == [200, 200, 200, 429])
        #expect(await send(village, "GET", "/database/1/iCloud.org.c/development/public/zones/list", network: "192.0.2.2").status == 200)
    }

    @Test func wrongCredentialsCount() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 3
        let village = try Village(limits: limits)
        let token = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        let path = "/database/1/\(Village.container)/development/private/zones/list"
        var statuses: [Int] = []
        for number in 0..<5 { statuses.append(await send(village, "GET", path, token: "tarn_wrong\(number)").status) }
        #expect(statuses == [401, 401, 401, 429, 429])
        #expect(await send(village, "GET", path, token: token).status == 200, "the network's other users are not locked out")
    }

    // MARK: Text

    /// A comparison of such text takes time of the square of its length, and anybody may send it.
    @Test(arguments: ["\u{301}", #"\u0323"#])
    func textOfCombiningMarksIsRefusedBeforeItIsCompared(_ mark: String) async throws {
        let village = try Village()
        let marks = String(repeating: mark, count: 1000)
        let filter = #"{"fieldName":"a","comparator":"a\#(marks)","fieldValue":{"value":1}}"#
        let body = Array(#"{"query":{"recordType":"Plant","filterBy":[\#(filter)]}}"#.utf8)
        let answer = await send(village, "POST", "/database/1/\(Village.container)/development/public/records/query", body)
        #expect(answer.status == 400)
        let error = try WireError(json: answer.body)
        #expect(error.reason.contains("combining marks"))
        #expect(error.nativeCode == .limitExceeded)
    }

    @Test func itemsOfCombiningMarksAreSkipped() {
        let marks = "y" + String(repeating: "\u{301}", count: 1000)
        let items = QueryItems("a=1&\(marks)=2&c=\(QueryItems.encode(marks))&d=4")
        #expect(items.all.map { $0.name } == ["a", "d"])
        #expect(QueryItems.decode(QueryItems.encode(marks)) == nil)
    }

    /// A form has texts of a person, and none of them is left out.
    @Test func formsOfCombiningMarksAreRefused() throws {
        let marks = String(repeating: "\u{301}", count: 1000)
        for form in ["c=y\(marks)", "c=y\(QueryItems.encode(marks))", "y\(QueryItems.encode(marks))=2", "a=1&\(marks)"] {
            let refused = #expect(throws: WireError.self) { _ = try QueryItems(form: Array(form.utf8)) }
            #expect(refused?.code == .badRequest)
        }
        let decorated = "z\(String(repeating: "\u{30D}", count: CombiningMarks.inARowMax))"
        #expect(try QueryItems(form: Array("c=\(QueryItems.encode(decorated))".utf8))["c"] == decorated)
    }

    // MARK: Streams

    /// Opens push streams of a public database without an account, and returns those that were accepted.
    private func streams(_ count: Int, _ village: Village, container: String, network: String) async -> [PushListener] {
        var listeners: [PushListener] = []
        for _ in 0..<count {
            let request = ServiceRequest(
                method: "GET", path: "/device/1/\(container)/development/push/stream", query: "database=public",
                headers: [HeaderNames.capabilities.lowercased(): Capability.publicChanges.rawValue], body: .bytes([]),
                baseURL: "http://tarn.example", network: network)
            if case .events(let listener) = await village.service.respond(to: request).body { listeners.append(listener) }
        }
        return listeners
    }

    @Test func anonymousStreamsOfANetworkAreLimited() async throws {
        var limits = Limits()
        limits.anonymousStreamsPerNetwork = 2
        let village = try Village(limits: limits)
        let held = await streams(3, village, container: Village.container, network: "192.0.2.1")
        #expect(held.count == 2)
        #expect(await streams(3, village, container: "iCloud.org.other", network: "192.0.2.1").isEmpty, "another container")
        let others = await streams(3, village, container: Village.container, network: "192.0.2.2")
        #expect(others.count == 2)
        held[0].close()
        let again = await streams(3, village, container: Village.container, network: "192.0.2.1")
        #expect(again.count == 1)
        for listener in held + others + again { listener.close() }
    }

    /// A gateway on the server's machine brings clients of any number.
    @Test func streamsOfThisMachineAreLimitedForUnknownContainersOnly() async throws {
        var limits = Limits()
        limits.anonymousStreamsPerNetwork = 2
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        let unknown = await streams(4, village, container: Village.container, network: "127.0.0.1")
        #expect(unknown.count == 2)
        let save = ModifyRecordsRequest(
            operations: [RecordOperation(.create, Record(recordName: "p", recordType: "Plant", fields: ["name": Field(.string("x"))]))])
        _ = try await mia.ask(.public, .modifyRecords, save, ModifyRecordsResponse.self)
        let known = await streams(4, village, container: Village.container, network: "127.0.0.1")
        #expect(known.count == 4)
        for listener in unknown + known { listener.close() }
    }

    /// An account may name any container, and the hub limits the streams of each.
    @Test func streamsOfAnAccountAreLimited() async throws {
        let village = try Village()
        let token = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        func open(_ number: Int) async -> (listener: PushListener?, status: Int) {
            let request = ServiceRequest(
                method: "GET", path: "/device/1/iCloud.org.c\(number / 64)/development/push/stream",
                headers: ["authorization": "Bearer \(token)"], body: .bytes([]), baseURL: "http://tarn.example")
            let response = await village.service.respond(to: request)
            if case .events(let listener) = response.body { return (listener, response.status) }
            return (nil, response.status)
        }
        var listeners: [PushListener] = []
        for number in 0..<CloudService.streamsPerAccount { if let listener = await open(number).listener { listeners.append(listener) } }
        #expect(listeners.count == CloudService.streamsPerAccount)
        #expect(await open(100_000).status == 429)
        listeners.removeLast().close()
        let again = await open(100_000).listener
        #expect(again != nil)
        for listener in listeners + [again].compactMap(\.self) { listener.close() }
    }

    // MARK: Uploads

    private func address(_ mia: Village.Villager) async throws -> String {
        let request = AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "p1", fieldName: "photo")], zoneID: mia.zone())
        let response = try await mia.ask(.private, .uploadAssets, request, AssetUploadResponse.self)
        guard case .address(let address)? = response.results.first else { throw WireError(.internalError, "no address") }
        return String(address.url.dropFirst("http://tarn.example".count))
    }

    @Test func anUploadAddressIsGoodForOneFile() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        let path = try await address(mia)
        #expect(await send(village, "PUT", path, [1, 2, 3]).status == 200)
        #expect(await send(village, "PUT", path, [1, 2, 3]).status == 200, "a retry is not another file")
        #expect(await send(village, "PUT", path, [4, 5, 6]).status == 409)
    }

    @Test func parallelUploadsShareTheQuota() async throws {
        var limits = Limits()
        limits.userBytes = 20_000
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        var paths: [String] = []
        for _ in 0..<10 { paths.append(try await address(mia)) }
        let statuses = await withTaskGroup(of: Int.self) { group in
            for (number, path) in paths.enumerated() {
                group.addTask { await send(village, "PUT", path, [UInt8](repeating: UInt8(number), count: 9000)).status }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 200 } <= 2)
        let partition = Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name)
        #expect(try await village.store.read(partition) { try $0.unusedUploadBytes() } <= 20_000)
    }

    /// A connection that breaks leaves what arrived on the disk.
    @Test func interruptedPartsCountForTheQuota() async throws {
        var limits = Limits()
        limits.userBytes = 20_000_000
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        var statuses: [Int] = []
        for _ in 0..<5 {
            guard let path = try? await address(mia) else {
                statuses.append(413)
                continue
            }
            let pieces = AsyncThrowingStream<[UInt8], any Error> { continuation in
                for _ in 0..<8 { continuation.yield([UInt8](repeating: 1, count: 1_100_000)) }
                continuation.finish(throwing: WireError(.badRequest, "the body is truncated or isn't valid HTTP"))
            }
            let request = ServiceRequest(
                method: "PATCH", path: path, headers: ["upload-offset": "0", "upload-complete": "?0"], body: .stream(pieces),
                baseURL: "http://tarn.example")
            statuses.append(await village.service.respond(to: request).status)
        }
        let partition = Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name)
        let bytes = try await village.store.read(partition) { try $0.unusedUploadBytes() }
        #expect(bytes > 12_000_000)
        #expect(bytes <= 20_000_000)
        #expect(statuses == [400, 400, 413, 413, 413])
    }

    @Test func uploadsWithoutAFileAreLimited() async throws {
        var limits = Limits()
        limits.openUploads = 3
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        for _ in 0..<3 { _ = try await address(mia) }
        await #expect(throws: WireError.self) { try await address(mia) }
    }

    // MARK: Names

    /// Storing a name takes time, which would reveal accounts.
    @Test func nothingIsStoredForAPersonWhoIsNotDiscoverable() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        _ = try await village.store.addUser(name: "bo", deviceLabel: "d", now: 0)
        try await village.store.updateProfile(ofUser: "bo") { $0.emailAddress = "bo@example.org" }
        let request = DiscoverUsersRequest(lookupInfos: [.emailAddress("bo@example.org")])
        let account = try #require(try await village.store.account(named: "bo"))
        #expect(try await mia.ask(.public, .discoverUsers, request, UserIdentitiesResponse.self).users.isEmpty)
        #expect(try await village.store.containers(ofAccount: account).isEmpty)
        try await village.store.updateProfile(ofUser: "bo") { $0.isDiscoverable = true }
        #expect(try await mia.ask(.public, .discoverUsers, request, UserIdentitiesResponse.self).users.count == 1)
        #expect(try await village.store.containers(ofAccount: account).count == 1)
    }

    @Test func aRequestBeyondTheRateLimitStoresNoName() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 1
        let village = try Village(limits: limits)
        let token = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        for number in 0..<3 {
            _ = await send(village, "GET", "/database/1/iCloud.org.c\(number)/development/private/zones/list", token: token)
        }
        let account = try #require(try await village.store.account(named: "mia"))
        #expect(try await village.store.containers(ofAccount: account) == ["iCloud.org.c0"])
    }

    // MARK: Schemas

    @Test func aTypeThatGrowsByUseHasALimitOfFields() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        func isSaved(_ type: String, _ fields: Range<Int>) async throws -> Bool {
            let record = Record(
                recordName: "\(type)\(fields.lowerBound)", recordType: type,
                fields: Dictionary(uniqueKeysWithValues: fields.map { ("f\($0)", Field(.int64(1))) }))
            let request = ModifyRecordsRequest(operations: [RecordOperation(.forceUpdate, record)], zoneID: mia.zone())
            let results = try await mia.ask(.private, .modifyRecords, request, ModifyRecordsResponse.self).results
            return results.allSatisfy { if case .failure = $0 { false } else { true } }
        }
        for start in stride(from: 0, to: 1000, by: 250) { #expect(try await isSaved("Wide", start..<start + 250)) }
        #expect(try await !isSaved("Wide", 1000..<1001))
        #expect(try await isSaved("Wide", 0..<10), "known fields are accepted")
        #expect(try await isSaved("Other", 0..<10))
    }

    // MARK: Sessions

    @Test func aDeviceHasALimitOfWebSessions() async throws {
        let village = try Village()
        _ = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: 0)
        let account = try #require(try await village.store.account(named: "mia"))
        for number in 0..<WebSession.countMax + 3 {
            let session = WebSession(
                account: account, use: .container(Village.container), environment: .development, isKept: false, started: Int64(number))
            try await village.store.startSession(session, id: [UInt8(number)], now: 0)
        }
        #expect(try await village.store.session(id: [2], now: 0) == nil)
        #expect(try await village.store.session(id: [3], now: 0) != nil)
        #expect(try await village.store.session(id: [UInt8(WebSession.countMax + 2)], now: 0) != nil)
    }

    // MARK: Subscriptions

    private func create(_ count: Int, ofBytes bytes: Int, _ mia: Village.Villager) async throws -> [WireError.Code] {
        var codes: [WireError.Code] = []
        for number in 0..<count {
            let texts = (0..<bytes / 250).map { "\($0) \(number)" + String(repeating: "x", count: 240) }
            let values = FieldValue.list(texts.map { .string($0) }, of: .string)
            let query = Query(recordType: "Plant", filters: [QueryFilter(.field("name"), .isIn, values)])
            let part = QuerySubscription(query: query, firesOn: [.create], firesOnce: false, zoneID: nil)
            let request = SubscriptionsModifyRequest(operations: [
                .create(Subscription(subscriptionID: "s\(number)", kind: .query(part), notification: .silent))
            ])
            let response = try await mia.ask(.private, .modifySubscriptions, request, SubscriptionsResponse.self)
            if case .failure(_, let error)? = response.subscriptions.first { codes.append(error.code) }
        }
        return codes
    }

    @Test func subscriptionsCountForTheQuota() async throws {
        var limits = Limits()
        limits.userBytes = 100_000
        let village = try Village(limits: limits)
        let mia = try await village.villager("mia")
        let save = ModifyRecordsRequest(
            operations: [RecordOperation(.create, Record(recordName: "p", recordType: "Plant", fields: ["name": Field(.string("x"))]))],
            zoneID: mia.zone())
        _ = try await mia.ask(.private, .modifyRecords, save, ModifyRecordsResponse.self)
        let codes = try await create(4, ofBytes: 50_000, mia)
        #expect(codes == [.quotaExceeded, .quotaExceeded])
    }

    @Test func aSubscriptionHasALimitOfBytes() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        let values = FieldValue.list((0..<200).map { .string("\($0)" + String(repeating: "x", count: 400)) }, of: .string)
        let query = Query(recordType: "Plant", filters: [QueryFilter(.field("name"), .isIn, values)])
        let part = QuerySubscription(query: query, firesOn: [.create], firesOnce: false, zoneID: nil)
        let request = SubscriptionsModifyRequest(operations: [
            .create(Subscription(subscriptionID: "big", kind: .query(part), notification: .silent))
        ])
        let response = try await mia.ask(.private, .modifySubscriptions, request, SubscriptionsResponse.self)
        guard case .failure(_, let error)? = response.subscriptions.first else {
            Issue.record("the subscription was accepted")
            return
        }
        #expect(error.nativeCode == .limitExceeded)
    }

    // MARK: Sharing

    @Test func aParticipantWithoutPermissionDoesNotReadTheRoot() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (_, guid) = try await village.bed(with: [.invited("bo", .none)])
        let request = ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: guid, shouldFetchRootRecord: true)])
        let response = try await bo.ask(.public, .resolveRecords, request, ShortGUIDsResponse.self)
        guard case .share(let seen)? = response.results.first else { return }
        #expect(seen.rootRecord == nil)
    }

    @Test func anInvitationDoesNotRevealAccounts() async throws {
        let village = try Village()
        _ = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo"), .invited("nobody")])
        let share = try #require(try await mia.lookup("share")[0].record?.sharing.details)
        #expect(share.participants.allSatisfy { $0.kind == .owner || $0.identity.userRecordName.isEmpty })
        #expect(!guid.isEmpty)
    }

    @Test func aParticipantCannotHoldOnToAHiddenRecord() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        func plant(_ name: String, to target: String) -> Record {
            var record = Record.plant(name, under: "bed")
            record.fields["other"] = Field(.reference(RecordReference(recordName: target, action: .validate)))
            return record
        }
        let hidden = try await bo.modify([RecordOperation(.create, plant("a", to: "own"))], of: mia, atomic: false)
        let absent = try await bo.modify([RecordOperation(.create, plant("b", to: "none"))], of: mia, atomic: false)
        #expect(hidden.map(\.outcome) == ["VALIDATING_REFERENCE_ERROR"])
        #expect(absent.map(\.outcome) == hidden.map(\.outcome))
        let visible = try await bo.modify([RecordOperation(.create, plant("c", to: "sage"))], of: mia, atomic: false)
        #expect(visible.map(\.outcome) == ["saved"])
        #expect(try await mia.modify([RecordOperation(.forceDelete, .plant("own"))]).map(\.outcome) == ["deleted"])
    }

    // MARK: Idempotency keys and device names

    @Test func anIdempotencyKeyIsItsUsersOwnInThePublicDatabase() async throws {
        let village = try Village()
        let (mia, bo) = (try await village.villager("mia"), try await village.villager("bo"))
        var record = Record(recordName: "", recordType: "Plant", fields: ["name": Field(.string("Sage"))])
        record.recordName = ""
        let body = ModifyRecordsRequest(operations: [RecordOperation(.create, record)], zoneID: .defaultZone).encoded()
        let first = await mia.send(.public, .modifyRecords, body, key: "k1")
        let again = await mia.send(.public, .modifyRecords, body, key: "k1")
        let others = await bo.send(.public, .modifyRecords, body, key: "k1")
        #expect(first.status == 200)
        #expect(again.body == first.body)
        #expect(others.status == 200)
        #expect(others.body != first.body)
    }

    @Test func aParticipantsDeviceNameSilencesNoDeviceOfTheOwner() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
        _ = try await mia.ask(
            .private, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]), SubscriptionsResponse.self)
        let audience = PushAudience(containerIdentifier: Village.container, environment: .development, userRecordName: mia.name)
        let listener = village.hub.listen(audience, deviceID: "mia-phone")
        let request = ModifyRecordsRequest(operations: [RecordOperation(.create, .plant("new", under: "bed"))], zoneID: bo.zone(mia))
        let path = "/database/1/\(Village.container)/development/shared/records/modify"
        let status = await send(village, "POST", path, token: bo.token, request.encoded(), headers: ["x-tarn-device": "mia-phone"]).status
        #expect(status == 200)
        var events = listener.events.makeAsyncIterator()
        guard case .notification(let notification)? = await events.next() else {
            Issue.record("the owner's device was not notified")
            return
        }
        #expect(notification.subscriptionID == "all")
        listener.close()
    }

    // MARK: Containers

    @Test func containersAndDevelopmentAreTheOperatorsChoice() async throws {
        let rules = ContainerRules(containers: [Village.container], development: .operators)
        let village = try Village(containerRules: rules)
        let token = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        let operatorToken = try await village.store.addUser(name: "ops", deviceLabel: "tablet", now: village.clock.now)
        try await village.store.updateProfile(ofUser: "ops") { $0.isOperator = true }
        func status(_ container: String, _ environment: String, _ token: String?) async -> Int {
            await send(village, "GET", "/database/1/\(container)/\(environment)/public/zones/list", token: token).status
        }
        #expect(await status(Village.container, "production", token) == 200)
        #expect(await status("iCloud.org.other", "production", token) == 403)
        #expect(await status(Village.container, "development", token) == 403)
        #expect(await status(Village.container, "development", nil) == 403)
        #expect(await status(Village.container, "development", operatorToken) == 200)
    }
}
