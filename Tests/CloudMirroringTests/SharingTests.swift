// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Objects that several people have: shared, taken part in, left.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharingTests {
    private static let trip = """
        Attachment  thumbnail <2:3>  imageData → ImageData  post → Trip
        ImageData  data <800000:663>  attachment → Attachment
        Post  content Sea  title Trip  attachments ["Attachment"]  tags ["holiday"]
        Tag  name holiday  posts ["Trip"]
        """

    private func zone(_ device: Device, _ title: String) throws -> String? {
        device.container.recordID(for: try device.postID(title))?.zoneID.zoneName
    }

    // MARK: Sharing and taking part

    @Test func sharingIncludesConnectedObjectsAndKeepsTheirIDs() async throws {
        let all = try await Sharers()
        try await all.plan()
        let before = try [all.mia.postID("Trip"), all.phone.postID("Trip")]
        let (ids, share, container) = try await all.mia.container.share(all.mia.objects([before[0]]), to: nil)
        #expect(ids.count == 4)
        #expect(ids.contains(before[0]))
        #expect(container.containerIdentifier == Device.containerIdentifier)
        #expect(share.recordID.recordName == CKRecordNameZoneWideShare)
        let prefix = "com.apple.coredata.cloudkit.share."
        #expect(share.recordID.zoneID.zoneName.hasPrefix(prefix))
        #expect(UUID(uuidString: String(share.recordID.zoneID.zoneName.dropFirst(prefix.count))) != nil)
        try await all.sync()
        #expect(try zone(all.mia, "Trip") == share.recordID.zoneID.zoneName)
        #expect(try zone(all.phone, "Trip") == share.recordID.zoneID.zoneName)
        #expect(try zone(all.mia, "Diary") == "com.apple.coredata.cloudkit.zone")
        // The same objects on both devices, and nothing twice.
        #expect(try all.mia.dump == all.phone.dump)
        #expect(try all.mia.read { try $0.all("Post").count } == 2)
        #expect(try [all.mia.postID("Trip"), all.phone.postID("Trip")] == before)
        #expect(try all.phone.container.conflicts().isEmpty)
        #expect(try all.mia.container.fetchShares(in: all.mia.own).map(\.recordID) == [share.recordID])
        #expect(try all.phone.container.fetchShares(matching: [before[1]])[before[1]]?.recordID == share.recordID)
        #expect(try all.mia.container.fetchShares(matching: [all.mia.postID("Diary")]).isEmpty)
        // The records of the user's zone are deleted.
        let home = CKRecordZone.ID(zoneName: "com.apple.coredata.cloudkit.zone")
        let left = try await all.mia.account.privateCloudDatabase.recordZoneChanges(inZoneWith: home, since: nil).modificationResultsByID
        #expect(left.count == 3)
    }

    @Test func acceptedShareIsWritableByBothParticipants() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        #expect(try all.bo.dump == Self.trip)
        #expect(try all.bo.container.fetchShares(in: all.bo.others).first?.currentUserParticipant?.permission == .readWrite)
        // Different fields at the same time.
        try all.bo.set("Trip", "content", "Mountains")
        try all.mia.edit {
            try #require(try $0.post(titled: "Trip")).setValue(Date(timeIntervalSinceReferenceDate: 7), forKey: "timestamp")
        }
        try await all.sync()
        for device in [all.mia, all.phone, all.bo] {
            #expect(try device.dump.contains("Post  content Mountains  timestamp @7.0  title Trip"))
        }
        // The same field: the later one stays, the other is kept.
        for device in [all.mia, all.bo] { device.container.pauseSyncing() }
        try all.bo.set("Trip", "content", "Bo's")
        try all.mia.set("Trip", "content", "Mia's")
        for device in [all.bo, all.mia] {
            device.container.resumeSyncing()
            try await device.sync()
        }
        try await all.sync()
        #expect(try all.bo.dump.contains("content Mia's"))
        #expect(try all.mia.container.conflicts().map { $0.losingValue as? String } == ["Bo's"])
    }

    @Test func objectsAddedToSharedOnesAreShared() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        try all.bo.edit { context in
            context.insert("Attachment", ["thumbnail": Data([3]), "post": try #require(try context.post(titled: "Trip"))])
        }
        try all.mia.edit { context in
            let post = try #require(try context.post(titled: "Trip"))
            post.mutableSetValue(forKey: "tags").add(context.insert("Tag", ["name": "new"]))
        }
        // The owner's own objects are relocated when they are connected.
        try all.phone.edit { context in
            let own = try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == "mine" })
            try #require(try context.post(titled: "Trip")).mutableSetValue(forKey: "tags").add(own)
        }
        try await all.sync()
        try await all.sync()
        #expect(try all.bo.dump == all.mia.dump)
        #expect(try all.mia.dump == all.phone.dump)
        #expect(try all.bo.dump.contains("tags [\"holiday\", \"mine\", \"new\"]"))
        #expect(try all.bo.dump.contains("thumbnail <1:3>"))
        #expect(try zone(all.mia, "Diary") == share.recordID.zoneID.zoneName)
    }

    @Test func aShareThatAnAppHasHeldForLongDoesNotTakeThePlaceOfWhatCameSince() async throws {
        let all = try await Sharers()
        try await all.plan()
        let held = try await all.mia.share("Trip")
        try await all.bo.join(held)
        try await all.sync()
        let diary = try all.mia.postID("Diary")
        _ = try await all.mia.container.share(all.mia.objects([diary]), to: held)
        let known = try #require(try all.mia.container.fetchShares(matching: [diary])[diary])
        #expect(known.participants.count == 2)
        known.publicPermission = .readOnly
        try await all.mia.container.persistUpdatedShare(known, in: all.mia.own)
        try await all.sync()
        #expect(try zone(all.mia, "Diary") == held.recordID.zoneID.zoneName)
        #expect(try all.bo.dump.contains("title Diary"))
    }

    @Test func objectsOutsideOfSharesStayPending() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        let others = try all.bo.others
        try all.bo.edit { context in context.assign(context.insert("Tag", ["name": "lonely"]), to: others) }
        try await all.bo.sync()
        guard case .error(let reason) = all.bo.container.syncStatus.activity else { Issue.record("it was not told"); return }
        #expect(
            reason == "an object in the store for shared data belongs to no share: relate to objects of one, or share with share(_:to:)")
        try all.bo.edit { context in
            let tag = try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == "lonely" })
            try #require(try context.post(titled: "Trip")).mutableSetValue(forKey: "tags").add(tag)
        }
        try await all.sync()
        #expect(try all.mia.dump.contains("Tag  name lonely  posts [\"Trip\"]"))
        #expect(all.bo.container.syncStatus.activity == .idle)
    }

    @Test func peopleAreInvitedByTheirAddresses() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .none)
        let own = try all.mia.own
        let found = try await all.mia.container.fetchParticipants(
            matching: [CKUserIdentity.LookupInfo(emailAddress: "bo@example.org")], into: own)
        let bo = try #require(found.first)
        bo.permission = .readOnly
        share.addParticipant(bo)
        let saved = try await all.mia.container.persistUpdatedShare(share, in: own)
        #expect(saved.participants.map(\.acceptanceStatus) == [.accepted, .pending])
        try await all.mia.sync()
        try await all.bo.join(saved)
        try await all.sync()
        #expect(try all.bo.dump == Self.trip)
        #expect(try all.mia.container.fetchShares(in: nil).first?.participants.map(\.acceptanceStatus) == [.accepted, .accepted])
        let nobody = CKUserIdentity.LookupInfo(emailAddress: "nobody@example.org")
        await #expect(throws: CKError.self) { try await all.mia.container.fetchParticipants(matching: [nobody], into: own) }
    }

    // MARK: Permissions

    @Test func readOnlyParticipantsAreRejectedUntilTheyMayWrite() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip", .readOnly)
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.sync()
        let (container, others) = (all.bo.container, try all.bo.others)
        let trip = try all.bo.postID("Trip")
        #expect(!container.canUpdateRecord(forManagedObjectWith: trip))
        #expect(!container.canDeleteRecord(forManagedObjectWith: trip))
        #expect(!container.canModifyManagedObjects(in: others))
        #expect(try container.canModifyManagedObjects(in: all.bo.own))
        #expect(all.mia.container.canUpdateRecord(forManagedObjectWith: try all.mia.postID("Trip")))
        try all.bo.set("Trip", "content", "mine now")
        try await all.bo.sync()
        guard case .error(let reason) = container.syncStatus.activity else { Issue.record("it was not told"); return }
        #expect(reason.contains("may only read"))
        #expect(try all.mia.dump.contains("content Sea"))
        let modifies = all.bo.transport.log.filter { $0 == "records/modify" }.count
        try await all.bo.sync()
        #expect(all.bo.transport.log.filter { $0 == "records/modify" }.count == modifies)

        let current = try #require(try all.mia.container.fetchShares(in: all.mia.own).first)
        current.publicPermission = .readWrite
        try await all.mia.container.persistUpdatedShare(current, in: all.mia.own)
        try await all.sync()
        #expect(container.canUpdateRecord(forManagedObjectWith: trip))
        #expect(container.canModifyManagedObjects(in: others))
        #expect(try all.mia.dump.contains("content mine now"))
    }

    @Test func answersCostNoLookIntoTheFile() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        let (trip, others) = (try all.bo.postID("Trip"), try all.bo.others)
        for _ in 0..<1_000 {
            #expect(all.bo.container.canUpdateRecord(forManagedObjectWith: trip))
            #expect(all.bo.container.canModifyManagedObjects(in: others))
        }
        #expect(all.bo.container.permissionLooks <= 2)
    }

    // MARK: Ending

    @Test func leavingAShareRemovesItsObjectsFromTheParticipantOnly() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        try all.bo.edit { $0.insert("Post", ["title": "Bo's own"]) }
        let zone = try #require(try all.bo.container.fetchShares(in: all.bo.others).first?.recordID.zoneID)
        #expect(zone.ownerName != CKCurrentUserDefaultName)
        #expect(try await all.bo.container.purgeObjectsAndRecordsInZone(with: zone, in: all.bo.others) == zone)
        #expect(try all.bo.dump == "Post  title Bo's own")
        try await all.sync()
        #expect(try all.mia.dump.contains("title Trip"))
        #expect(try all.mia.dump == all.phone.dump)
        #expect(try all.mia.container.fetchShares(in: nil).first?.participants.count == 1)
        // And comes back.
        try await all.bo.join(share)
        try await all.sync()
        #expect(try all.bo.dump == Self.trip.replacing("Tag  name", with: "Post  title Bo's own\nTag  name"))
    }

    @Test func stoppingAShareKeepsTheOwnersObjects() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        try await all.mia.account.privateCloudDatabase.deleteRecord(withID: share.recordID)
        try await all.sync()
        #expect(try all.bo.dump.isEmpty)
        #expect(try all.mia.dump.contains(Self.trip.split(separator: "\n")[2]))
        #expect(try all.mia.dump == all.phone.dump)
        #expect(try all.mia.container.fetchShares(in: nil).isEmpty)
        #expect(try all.phone.container.fetchShares(in: nil).isEmpty)
        try all.mia.set("Trip", "content", "alone")
        try await all.sync()
        #expect(try all.phone.dump.contains("content alone"))
    }

    @Test func purgedSharesAreRemovedFromAllDevices() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        try await all.mia.container.purgeObjectsAndRecordsInZone(with: share.recordID.zoneID, in: nil)
        try await all.sync()
        #expect(try all.bo.dump.isEmpty)
        let rest = "Post  title Diary  tags [\"mine\"]\nTag  name mine  posts [\"Diary\"]"
        #expect(try all.mia.dump == rest)
        #expect(try all.phone.dump == rest)
    }

    @Test func objectsInsertedIntoAnEndedShareAreKept() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.bo.join(share)
        try await all.sync()
        all.bo.container.pauseSyncing()
        try all.bo.edit { context in
            context.insert("Attachment", ["thumbnail": Data([7]), "post": try #require(try context.post(titled: "Trip"))])
        }
        try await all.mia.container.purgeObjectsAndRecordsInZone(with: share.recordID.zoneID, in: nil)
        all.bo.container.resumeSyncing()
        try await all.bo.sync()
        #expect(try all.bo.dump == "Attachment  thumbnail <1:7>")
    }

    // MARK: Trouble

    @Test(arguments: [(0, false), (1, false), (1, true), (2, true), (3, false), (3, true), (4, true), (6, true), (8, true)])
    func aDeviceThatDiesWhileObjectsMoveDoublesAndLosesNothing(request: Int, isCarriedOut: Bool) async throws {
        let all = try await Sharers()
        try await all.plan()
        let ids = try all.phone.postID("Trip")
        let share = try await all.phone.share("Trip")
        let file = all.phone.file
        try await all.phone.kill()
        // A pending relocation continues after a restart, and the process dies again on the way.
        let transport = try await all.cloud.addDevice("laptop", of: "mia")
        let faults = Faults(transport)
        faults.die(at: request, isCarriedOut: isCarriedOut)
        let dying = try Device.sharing("laptop", transport, over: faults, file: file)
        try await dying.until { status in
            status.activity == .offline || (status.activity == .idle && status.pendingCount == 0 && status.lastSuccess != nil)
        }
        try await dying.kill()
        try all.mia.set("Trip", "content", "edited meanwhile")
        try await all.mia.sync()
        let again = try Device.sharing("laptop", transport, file: file)
        try await all.bo.join(share)
        for _ in 0..<3 { for device in [again, all.mia, all.bo] { try await device.sync() } }
        #expect(try all.mia.dump == again.dump)
        #expect(try all.bo.dump == Self.trip.replacing("Sea", with: "edited meanwhile"))
        #expect(try again.postID("Trip").uriRepresentation().lastPathComponent == ids.uriRepresentation().lastPathComponent)
    }

    @Test func editsDuringARelocationAreForwarded() async throws {
        let all = try await Sharers()
        try await all.plan()
        // The phone edits an object that is about to be relocated, and connects a new one with it.
        all.phone.container.pauseSyncing()
        try all.phone.edit { context in
            let post = try #require(try context.post(titled: "Trip"))
            post.setValue("phone's", forKey: "content")
            post.mutableSetValue(forKey: "tags").add(context.insert("Tag", ["name": "late"]))
            post.mutableSetValue(forKey: "tags").remove(
                try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == "holiday" }))
        }
        let share = try await all.mia.share("Trip")
        try await all.mia.sync()
        try await all.bo.join(share)
        try await all.bo.sync()
        all.phone.container.resumeSyncing()
        try await all.sync()
        try await all.sync()
        let (mia, phone, bo) = (try all.mia.dump, try all.phone.dump, try all.bo.dump)
        #expect(mia == phone)
        #expect(bo.contains("Post  content phone's  title Trip  attachments [\"Attachment\"]  tags [\"late\"]"))
    }

    @Test func anObjectThatAnotherDeviceDeletesWhileItMovesIsDeleted() async throws {
        let all = try await Sharers()
        try await all.plan()
        all.phone.container.pauseSyncing()
        try all.phone.edit { $0.delete(try #require(try $0.post(titled: "Trip"))) }
        try await all.mia.share("Trip")
        try await all.mia.sync()
        all.phone.container.resumeSyncing()
        try await all.sync()
        let (mia, phone) = (try all.mia.dump, try all.phone.dump)
        #expect(mia == phone)
        #expect(!mia.contains("Trip"))
    }

    /// The deletion, or the unlinking, reaches the source zone after the object arrived in the destination: the relocating device
    /// does not know of it, and the deleting device does.
    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func deletionsAndUnlinkingDuringARelocationHold(isBeforeTheMovesEnd: Bool, isLink: Bool) async throws {
        let all = try await Sharers()
        try await all.plan()
        for device in [all.mia, all.phone] { try await device.kill() }
        let late = Holding(deletionsOn: all.phone.transport), slow = Holding(deletionsOn: all.mia.transport)
        let phone = try Device.sharing("phone", all.phone.transport, over: late, file: all.phone.file)
        let tablet = try Device.sharing("tablet", all.mia.transport, over: slow, file: all.mia.file)
        for device in [phone, tablet] { try await device.sync() }
        try phone.edit { context in
            let post = try #require(try context.post(titled: "Trip"))
            if isLink { post.setValue(Set<NSManagedObject>(), forKey: "tags") } else { context.delete(post) }
        }
        let taking = Task { try await phone.sync() }
        try await late.gate.reached()
        if !isBeforeTheMovesEnd { slow.gate.open() }
        try await tablet.share("Trip")
        let moving = Task { try await tablet.sync() }
        if isBeforeTheMovesEnd { try await slow.gate.reached() } else { try await moving.value }
        late.gate.open()
        try await taking.value
        slow.gate.open()
        try await moving.value
        for _ in 0..<3 { for device in [tablet, phone] { try await device.sync() } }
        let (here, there) = (try tablet.dump, try phone.dump)
        #expect(here == there)
        #expect(here.contains("Diary"))
        #expect(isLink ? here.contains("Post  content Sea  title Trip  attachments [\"Attachment\"]\n") : !here.contains("Trip"))
    }

    @Test func sharingFailuresNameTheirReason() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        let context = all.mia.container.newBackgroundContext()
        let trip = try all.mia.postID("Trip"), diary = try all.mia.postID("Diary")
        func refusal(_ ids: [NSManagedObjectID], _ share: CKShare? = nil) async -> (any Error)? {
            do {
                _ = try await all.mia.container.share(all.mia.objects(ids), to: share)
                return nil
            } catch { return error }
        }
        #expect((await refusal([trip]) as? CKError)?.code == .alreadyShared)
        #expect((await refusal([]) as? CocoaError)?.localizedDescription == "The list of objects to share is empty.")
        // An existing share takes more.
        #expect(await refusal([diary], share) == nil)
        try await all.sync()
        #expect(try zone(all.phone, "Diary") == share.recordID.zoneID.zoneName)
        let unsaved = context.performAndWait { context.insert("Post", ["title": "new"]).objectID }
        #expect((await refusal([unsaved]) as? CocoaError)?.localizedDescription == "Objects are saved before they are shared.")
        try await all.bo.join(share)
        try await all.sync()
        let id = try all.bo.postID("Trip")
        let error = await #expect(throws: CKError.self) { _ = try await all.bo.container.share(all.bo.objects([id]), to: nil) }
        #expect(error?.code == .badDatabase)
        let own = try all.bo.own
        let metadata = try await all.bo.account.shareMetadata(for: try #require(share.url))
        let other = await #expect(throws: CKError.self) { try await all.bo.container.acceptShareInvitations(from: [metadata], into: own) }
        #expect(other?.code == .badDatabase)
        // Without a network nothing happens.
        try all.mia.edit { $0.insert("Post", ["title": "Third"]) }
        try await all.mia.sync()
        let third = try all.mia.postID("Third")
        all.mia.transport.goOffline()
        #expect(await refusal([third]) is CKError)
        #expect(try all.mia.container.fetchShares(in: nil).count == 1)
    }

    @Test func completionsAreCalled() async throws {
        let all = try await Sharers()
        try await all.plan()
        let trip = try all.mia.postID("Trip"), own = try all.mia.own
        let share: CKShare? = await withCheckedContinuation { continuation in
            all.mia.container.share(all.mia.objects([trip]), to: nil) { ids, share, container, error in
                #expect(ids?.count == 4)
                #expect(container != nil)
                #expect(error == nil)
                continuation.resume(returning: share)
            }
        }
        let made = try #require(share)
        made.publicPermission = .readWrite
        let people: [CKShare.Participant]? = await withCheckedContinuation { continuation in
            all.mia.container.fetchParticipants(matching: [CKUserIdentity.LookupInfo(emailAddress: "bo@example.org")], into: own) {
                #expect($1 == nil)
                continuation.resume(returning: $0)
            }
        }
        #expect(people?.count == 1)
        let url: URL? = await withCheckedContinuation { continuation in
            all.mia.container.persistUpdatedShare(made, in: own) { share, error in
                #expect(error == nil)
                continuation.resume(returning: share?.url)
            }
        }
        let metadata = try await all.bo.account.shareMetadata(for: try #require(url))
        let others = try all.bo.others
        let count = await withCheckedContinuation { continuation in
            all.bo.container.acceptShareInvitations(from: [metadata], into: others) { accepted, _ in
                continuation.resume(returning: accepted?.count)
            }
        }
        #expect(count == 1)
        try await all.sync()
        #expect(try all.bo.dump == Self.trip)
        let zone = try #require(try all.bo.container.fetchShares(in: others).first?.recordID.zoneID)
        let purged = await withCheckedContinuation { continuation in
            all.bo.container.purgeObjectsAndRecordsInZone(with: zone, in: others) { zone, _ in continuation.resume(returning: zone) }
        }
        #expect(purged == zone)
        #expect(try all.bo.dump.isEmpty)
    }
}
