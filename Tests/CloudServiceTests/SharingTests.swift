// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import Testing

@Suite struct SharingTests {
    @Test func anInvitedPersonSeesTheHierarchyAndNothingElse() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        #expect(try await bo.changes(of: mia).error?.code == .zoneNotFound)
        #expect(try await bo.sharedZones().zones.isEmpty)
        guard case .share(let seen) = try await bo.resolve(guid) else {
            Issue.record("the invitation is not found")
            return
        }
        #expect(seen.participantStatus == .invited)
        #expect(seen.participantPermission == .readWrite)
        #expect(seen.scope == .shared)
        #expect(seen.zoneID == mia.zone(mia))
        #expect(seen.rootRecordName == "bed")
        #expect(seen.owner.userRecordName == mia.name)

        guard case .share(let accepted) = try await bo.accept(guid) else {
            Issue.record("the invitation is not accepted")
            return
        }
        #expect(accepted.participantStatus == .accepted)
        #expect(accepted.rootRecord?.recordName == "bed")
        #expect(try await bo.sharedZones().zones.map(\.zoneID) == [mia.zone(mia)])
        let feed = try await bo.changes(of: mia)
        #expect(feed.picture == "+bed +mint +sage +share")
        #expect(try await bo.lookup("sage", "own", "share", of: mia).map(\.outcome) == ["saved", "NOT_FOUND", "saved"])
        let sage = try await bo.lookup("sage", of: mia)[0].record
        #expect(sage?.sharing.share == "share")
        #expect(sage?.sharing.parent == "bed")
        #expect(sage?.zoneID == mia.zone(mia))
        let share = try await bo.lookup("share", of: mia)[0].record
        #expect(share?.sharing.details?.currentParticipant?.identity.userRecordName == bo.name)
        #expect(share?.fields["cloudkit.title"]?.value == .string("Herbs"))
    }

    @Test func changesGoBothWays() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        let start = try await bo.changes(of: mia)
        let zones = try await bo.sharedZones()

        try await mia.modify([RecordOperation(.create, .plant("dill", under: "bed")), RecordOperation(.delete, .plant("sage"))])
        #expect(try await bo.sharedZones(since: zones.syncToken).zones.count == 1)
        // The descendants of the deleted record are not in the share any more.
        let next = try await bo.changes(of: mia, since: start.token)
        #expect(next.picture == "+dill -mint -sage")

        let results = try await bo.modify(
            [RecordOperation(.create, .plant("rue", under: "bed")), RecordOperation(.forceUpdate, .plant("bed"))], of: mia)
        #expect(results.map(\.outcome) == ["saved", "saved"])
        #expect(results[0].record?.created?.userRecordName == bo.name)
        #expect(try await mia.lookup("rue")[0].record?.sharing.share == "share")
        #expect(try await bo.changes(of: mia, since: next.token).picture == "+bed +rue")
    }

    /// What participants with each permission may do; `y` is done, `n` is `ACCESS_DENIED`, `-` is `NOT_FOUND`.
    static let table: [(permission: SharePermission, cells: String)] = [(.readWrite, "yyyynn-nn"), (.readOnly, "ynnnnn-nn")]

    @Test(arguments: table) func permissionsDecide(_ row: (permission: SharePermission, cells: String)) async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo", row.permission)])
        _ = try await bo.accept(guid)
        var seen = Self.cell(try await bo.lookup("sage", of: mia)[0])
        var share = Record.share("share", of: nil, with: [.invited("zoe")])
        share.recordChangeTag = nil
        for operation in [
            RecordOperation(.forceUpdate, .plant("sage")),
            RecordOperation(.create, .plant("new", under: "mint")),
            RecordOperation(.delete, .plant("mint")),
            RecordOperation(.create, .plant("stray")),
            RecordOperation(.create, .plant("stray", under: "own")),
            RecordOperation(.forceDelete, .plant("own")),
            RecordOperation(.forceUpdate, share),
            RecordOperation(.delete, .plant("bed")),
        ] {
            seen += Self.cell(try await bo.modify([operation], of: mia)[0])
        }
        #expect(seen == row.cells)
    }

    static func cell(_ result: RecordResult) -> String {
        switch result.outcome {
        case "saved", "deleted": "y"
        case "ACCESS_DENIED": "n"
        case "NOT_FOUND": "-"
        default: result.outcome
        }
    }

    @Test func aStrangerHasNoPlaceInTheZone() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("zoe")])
        guard case .failure(_, let refused) = try await bo.accept(guid), case .failure(_, let hidden) = try await bo.resolve(guid) else {
            Issue.record("the stranger came in")
            return
        }
        #expect(refused.code == .accessDenied)
        #expect(hidden.code == .accessDenied)
        // The invited address belongs to no account, so it may be the caller's.
        #expect(hidden.nativeCode == .participantMayNeedVerification)
        #expect(await Self.refusal { try await bo.lookup("bed", of: mia) }?.code == .zoneNotFound)
        #expect(
            await Self.refusal { try await bo.modify([RecordOperation(.create, .plant("x", under: "bed"))], of: mia) }?.code
                == .zoneNotFound)
        for forged in ["", "0", String(repeating: "0", count: 40), String(guid.reversed()), "../../etc/passwd"] {
            guard case .failure(_, let error) = try await bo.resolve(forged) else {
                Issue.record("a forged link led somewhere")
                return
            }
            #expect(error.code == .notFound)
        }
    }

    @Test func aStrangerIsNotAskedToVerifyAnAddressOfAnotherAccount() async throws {
        let village = try Village()
        let (bo, zoe) = (try await village.villager("bo"), try await village.villager("zoe"))
        var invited = ShareParticipant.invited("zoe")
        invited.identity.userRecordName = zoe.name
        let (_, guid) = try await village.bed(with: [invited])
        guard case .failure(_, let hidden) = try await bo.resolve(guid) else {
            Issue.record("the stranger came in")
            return
        }
        #expect(hidden.code == .accessDenied)
        #expect(hidden.nativeCode == nil)
    }

    @Test func anOpenLinkLetsEverybodyInUntilItIsClosed() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(open: .readOnly, with: [])
        guard case .share(let accepted) = try await bo.accept(guid) else {
            Issue.record("the open link is closed")
            return
        }
        #expect(accepted.participantKind == .publicUser)
        #expect(accepted.participantPermission == .readOnly)
        #expect(try await bo.modify([RecordOperation(.forceUpdate, .plant("sage"))], of: mia)[0].outcome == "ACCESS_DENIED")
        let zones = try await bo.sharedZones()
        try await mia.change("share") { $0.publicPermission = .none }
        let after = try await bo.sharedZones(since: zones.syncToken)
        #expect(after.zones.map(\.isDeleted) == [true])
        #expect(try await bo.changes(of: mia).error?.code == .zoneNotFound)
    }

    @Test func leavingAndRevokingTakeTheZoneAway() async throws {
        let village = try Village()
        let (bo, zoe) = (try await village.villager("bo"), try await village.villager("zoe"))
        let (mia, guid) = try await village.bed(with: [.invited("bo"), .invited("zoe", .readOnly)])
        _ = try await bo.accept(guid)
        _ = try await zoe.accept(guid)
        let left = try await zoe.modify([RecordOperation(.forceDelete, Record(recordName: "share"))], of: mia)
        #expect(left[0].outcome == "deleted")
        #expect(try await zoe.sharedZones().zones.isEmpty)
        let share = try await mia.lookup("share")[0].record?.sharing.details
        #expect(share?.participants.map(\.identity.userRecordName) == [mia.name, bo.name])

        try await mia.change("share") { $0.participants.removeAll { $0.identity.userRecordName == bo.name } }
        #expect(try await bo.sharedZones().zones.isEmpty)
        #expect(await Self.refusal { try await bo.lookup("sage", of: mia) }?.code == .zoneNotFound)
    }

    @Test func theEndOfARootOrZoneIsTheEndOfItsShare() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "bed"))])
        #expect(try await bo.sharedZones().zones.isEmpty)
        #expect(try await mia.lookup("share")[0].outcome == "NOT_FOUND")
        guard case .failure(_, let error) = try await bo.resolve(guid) else {
            Issue.record("the link still leads somewhere")
            return
        }
        #expect(error.code == .notFound)

        let second = try await mia.modify([
            RecordOperation(.create, .plant("tree")), RecordOperation(.create, .share("s2", of: "tree", open: .readWrite)),
        ])
        _ = try await bo.accept(try #require(second[1].record?.sharing.shortGUID))
        let zones = try await bo.sharedZones()
        #expect(zones.zones.count == 1)
        _ = try await mia.ask(.private, .modifyZones, ZonesModifyRequest(operations: [.delete(mia.zone())]), ZonesResponse.self)
        #expect(try await bo.sharedZones(since: zones.syncToken).zones.map(\.isDeleted) == [true])
    }

    /// The mint had a share of its own before the bed around it.
    @Test func theEndOfAnInnerShareReturnsItsRecordsToTheOuterOne() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let mia = try await village.villager("mia")
        try await mia.modify([
            RecordOperation(.create, .plant("bed")), RecordOperation(.create, .plant("mint", under: "bed")),
            RecordOperation(.create, .plant("leaf", under: "mint")),
        ])
        try await mia.modify([RecordOperation(.create, .share("inner", of: "mint"))])
        let made = try await mia.modify([RecordOperation(.create, .share("outer", of: "bed", with: [.invited("bo")]))])
        _ = try await bo.accept(try #require(made[0].record?.sharing.shortGUID))
        let start = try await bo.changes(of: mia)
        #expect(start.picture == "+bed +outer")
        try await mia.modify([RecordOperation(.forceDelete, .share("inner", of: "mint"))])
        #expect(try await bo.changes(of: mia, since: start.token).picture == "+leaf +mint")
        #expect(try await bo.modify([RecordOperation(.forceUpdate, .plant("leaf"))], of: mia)[0].outcome == "saved")
    }

    @Test func aWholeZoneIsShared() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let mia = try await village.villager("mia")
        try await mia.modify([RecordOperation(.create, .plant("sage"))])
        let made = try await mia.modify([
            RecordOperation(.create, .share(ShareDetails.zoneShareName, of: nil, with: [.invited("bo")]))
        ])
        _ = try await bo.accept(try #require(made[0].record?.sharing.shortGUID))
        let feed = try await bo.changes(of: mia)
        #expect(feed.picture == "+cloudkit.zoneshare +sage")
        #expect(try await bo.modify([RecordOperation(.create, .plant("new"))], of: mia)[0].outcome == "saved")
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "sage"))])
        #expect(try await bo.changes(of: mia, since: feed.token).picture == "+new -sage")
        let second = try await mia.modify([RecordOperation(.create, .share("other", of: "new"))])
        #expect(second[0].outcome == "BAD_REQUEST")
    }

    @Test func recordsThatMoveInAndOutComeAndGo() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        let start = try await bo.changes(of: mia)
        try await mia.modify([RecordOperation(.create, .plant("leaf", under: "own"))])
        let tag = try await mia.lookup("own")[0].record?.recordChangeTag
        var own = Record.plant("own", under: "bed", tag: tag)
        try await mia.modify([RecordOperation(.update, own)])
        let inside = try await bo.changes(of: mia, since: start.token)
        #expect(inside.picture == "+leaf +own")
        own.sharing.parent = ""
        own.recordChangeTag = try await mia.lookup("own")[0].record?.recordChangeTag
        try await mia.modify([RecordOperation(.update, own)])
        #expect(try await bo.changes(of: mia, since: inside.token).picture == "-leaf -own")
        let circle = try await mia.modify([RecordOperation(.forceUpdate, .plant("bed", under: "mint"))])
        #expect(circle[0].outcome == "BAD_REQUEST")
    }

    @Test func pagesOfASharedFeedHaveNoGaps() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        try await mia.modify((0..<20).map { RecordOperation(.create, .plant("p\($0)", under: $0 % 2 == 0 ? "bed" : nil)) })
        _ = try await bo.accept(guid)
        var (token, names): (String?, [String]) = (nil, [])
        while true {
            guard case .changes(let page) = try await bo.changes(of: mia, since: token, limit: 3) else {
                Issue.record("a page was refused")
                return
            }
            names += page.records.map(\.recordName)
            token = page.syncToken
            if !page.moreComing { break }
        }
        #expect(names.count == 14)
        #expect(Set(names).count == 14)
        // A second share in the same zone invalidates the token: its records are older than the token.
        let tree = try await mia.modify([
            RecordOperation(.create, .share("s2", of: "own", open: .readOnly))
        ])
        _ = try await bo.accept(try #require(tree[0].record?.sharing.shortGUID))
        #expect(try await bo.changes(of: mia, since: token).error?.nativeCode == .changeTokenExpired)
        // The token is invalid for the owner as well.
        let owners = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: mia.zone(), syncToken: token)])
        let foreign = try await mia.ask(.private, .zoneChanges, owners, ZoneChangesResponse.self).zones[0]
        #expect(foreign.error?.nativeCode == .changeTokenExpired)
    }

    @Test func newsThatAServerLeftBehindAreDelivered() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        let zones = try await bo.sharedZones()
        // The unit commits, and the server ends before it notifies a listener.
        let partition = Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name)
        let call = village.service.call(partition, Caller(userRecordName: mia.name, deviceID: ""), baseURL: "")
        let engine = village.service.engine
        let request = ModifyRecordsRequest(operations: [RecordOperation(.forceUpdate, .plant("sage"))], zoneID: mia.zone())
        _ = try await village.store.write(partition) { try engine.records.modify(request, in: $0, call).news }
        #expect(try await bo.sharedZones(since: zones.syncToken).zones.isEmpty)
        #expect(try await village.store.pendingNews(limit: 10).count == 1)
        try await village.service.announcements.deliverPending()
        let after = try await bo.sharedZones(since: zones.syncToken)
        #expect(after.zones.count == 1)
        #expect(try await village.store.pendingNews(limit: 10).isEmpty)
        try await village.service.announcements.deliverPending()
        #expect(try await bo.sharedZones(since: after.syncToken).zones.isEmpty)
    }

    @Test func sharesAreMadeOnlyWhereTheyCanBe() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        #expect(try await mia.modify([RecordOperation(.create, .share("s", of: "nothing"))])[0].outcome == "NOT_FOUND")
        #expect(try await mia.modify([RecordOperation(.create, .share("s", of: nil))])[0].outcome == "BAD_REQUEST")
        let inDefaultZone = ModifyRecordsRequest(operations: [RecordOperation(.create, .share("s", of: "x"))])
        for scope in [DatabaseScope.private, .public] {
            let results = try await mia.ask(scope, .modifyRecords, inDefaultZone, ModifyRecordsResponse.self).results
            #expect(results[0].outcome == "BAD_REQUEST")
        }
        try await mia.modify([RecordOperation(.create, .plant("a")), RecordOperation(.create, .plant("b", under: "a"))])
        let spelled =
            #"{"zoneID":{"zoneName":"Garden"},"operations":[{"operationType":"create","record":{"recordName":"s","recordType":"cloudKit.share","forRecord":{"recordName":"a"},"publicPermission":"NONE","participants":[]}}]}"#
        let made = await mia.send(.private, .modifyRecords, Array(spelled.utf8))
        #expect(try ModifyRecordsResponse(json: made.body).results[0].record?.recordType == "cloudkit.share")
        #expect(try await mia.modify([RecordOperation(.create, .share("s2", of: "b"))])[0].outcome == "BAD_REQUEST")
    }

    /// A share refers to the record as its sender read it.
    @Test func aShareOfAConcurrentlyChangedRecordIsRejected() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        let first = try #require(try await mia.modify([RecordOperation(.create, .plant("bed"))])[0].record?.recordChangeTag)
        let second = try #require(try await mia.modify([RecordOperation(.update, .plant("bed", tag: first))])[0].record?.recordChangeTag)
        func share(_ name: String, tag: String) -> Record {
            var share = Record.share(name, of: "bed")
            share.sharing.details?.rootRecordChangeTag = tag
            return share
        }
        #expect(try await mia.modify([RecordOperation(.create, share("share", tag: first))]).map(\.outcome) == ["CONFLICT"])
        #expect(try await mia.lookup("share").map(\.outcome) == ["NOT_FOUND"])
        // The root is sent in the version that was read, and gets its next tag by the same request.
        let both = [RecordOperation(.update, .plant("bed", tag: second)), RecordOperation(.create, share("share", tag: second))]
        #expect(try await mia.modify(both).map(\.outcome) == ["saved", "saved"])
        // A share that is there says of which record it is, not how that is now.
        guard var record = try await mia.lookup("share")[0].record else { throw WireError(.notFound, "no share") }
        record.sharing.details?.rootRecordChangeTag = first
        #expect(try await mia.modify([RecordOperation(.update, record)]).map(\.outcome) == ["saved"])
    }

    @Test func forcedAndFreshSharesAskForNoTag() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        let first = try #require(try await mia.modify([RecordOperation(.create, .plant("bed"))])[0].record?.recordChangeTag)
        try await mia.modify([RecordOperation(.forceUpdate, .plant("bed"))])
        var share = Record.share("share", of: "bed")
        share.sharing.details?.rootRecordChangeTag = first
        #expect(try await mia.modify([RecordOperation(.forceUpdate, share)]).map(\.outcome) == ["saved"])
        var other = Record.share("other", of: "new")
        other.sharing.details?.rootRecordChangeTag = first
        let both = [RecordOperation(.create, .plant("new")), RecordOperation(.create, other)]
        #expect(try await mia.modify(both).map(\.outcome) == ["saved", "saved"], "a record that was not there has no tag")
    }

    /// As in the private database, the list has the token of each zone.
    @Test func sharedZonesAreListedWithTheirTokens() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        func zone() async throws -> Zone? {
            guard case .zone(let zone)? = try await bo.ask(.shared, .listZones, nil, ZonesResponse.self).zones.first else { return nil }
            return zone
        }
        let listed = try #require(try await zone())
        let token = try #require(listed.syncToken)
        #expect(listed.zoneID == mia.zone(mia))
        #expect(listed.atomic == true)
        #expect(try await bo.changes(of: mia, since: token).picture == "")
        try await mia.modify([RecordOperation(.create, .plant("dill", under: "bed"))])
        #expect(try await bo.changes(of: mia, since: token).picture == "+dill")
        let next = try #require(try await zone()?.syncToken)
        #expect(try await bo.changes(of: mia, since: next).picture == "")
    }

    @Test func participantsHearOfChangesByPush() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
        for scope in [DatabaseScope.shared] {
            _ = try await bo.ask(
                scope, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]), SubscriptionsResponse.self)
        }
        let audience = PushAudience(
            containerIdentifier: Village.container, environment: .development, userRecordName: bo.name)
        let listener = village.hub.listen(audience, deviceID: "another device")
        defer { listener.close() }
        try await mia.modify([RecordOperation(.forceUpdate, .plant("sage"))])
        for await event in listener.events {
            guard case .notification(let notification) = event else { continue }
            #expect(notification.subject == .database(.shared))
            #expect(notification.subscriptionID == "all")
            break
        }
    }

    @Test func theRecordsOfLinksHaveTheRoomOfOneResponse() async throws {
        var limits = Limits()
        limits.responseRecordBytes = 100
        let village = try Village(limits: limits)
        let (mia, guid) = try await village.bed(with: [])
        let links = Array(repeating: ShortGUID(value: guid, shouldFetchRootRecord: true), count: 50)
        let results = try await mia.ask(.public, .resolveRecords, ShortGUIDsRequest(shortGUIDs: links), ShortGUIDsResponse.self).results
        #expect(results.count == 50)
        let failures = results.compactMap { result -> WireError? in
            if case .failure(_, let error) = result { error } else { nil }
        }
        #expect((1..<50).contains(failures.count), "the first ones are found")
        #expect(failures.allSatisfy { $0.nativeCode == .limitExceeded })
    }

    @Test func aRequestInvitesALimitedNumberOfPeopleByAddress() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        let people = (0..<99).map { ShareParticipant.invited("p\($0)") }
        let operations = (0..<21).flatMap { index in
            [
                RecordOperation(.create, .plant("bed\(index)")),
                RecordOperation(.create, .share("share\(index)", of: "bed\(index)", with: people)),
            ]
        }
        let refused = await Self.refusal { try await mia.modify(operations) }
        #expect(refused?.nativeCode == .limitExceeded)
        #expect(try await mia.modify(Array(operations.prefix(2))).map(\.outcome) == ["saved", "saved"])
    }

    static func refusal<Value>(_ body: () async throws -> Value) async -> WireError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? WireError
        }
    }
}
