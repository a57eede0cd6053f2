// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import ServiceFixtures
import Testing

/// The permission of participants that joined by a share's link is the share's public permission.
///
/// Source: Apple's documentation of `CKShare.publicPermission`.
@Suite struct PublicPermissionTests {
    typealias Villager = Village.Villager

    /// The participants in an owner's request with the new permission.
    enum Request: CaseIterable, Sendable {
        /// All participants as the owner read them, with their old permissions.
        case echoesParticipants
        /// Public participants with a permission of their own, which the server ignores.
        case contradicts
        case permissionAlone
    }

    /// Zoe and Cay are invited by name; Ben and Ann join by the link.
    struct Scene {
        let owner: Villager
        let ben: Villager, ann: Villager, zoe: Villager, cay: Villager
        let guid: String
        let share: String
        let isZoneWide: Bool

        init(open: SharePermission, isZoneWide: Bool) async throws {
            let village = try Village()
            (ben, ann) = (try await village.villager("ben"), try await village.villager("ann"))
            (zoe, cay) = (try await village.villager("zoe"), try await village.villager("cay"))
            owner = try await village.villager("mia")
            share = isZoneWide ? ShareDetails.zoneShareName : "share"
            self.isZoneWide = isZoneWide
            try await owner.modify([RecordOperation(.create, .plant("bed")), RecordOperation(.create, .plant("sage", under: "bed"))])
            let people: [ShareParticipant] = [.invited("zoe", .readOnly), .invited("cay", .readWrite)]
            let made = try await owner.modify([
                RecordOperation(.create, .share(share, of: isZoneWide ? nil : "bed", open: open, with: people))
            ])
            guid = try #require(made[0].record?.sharing.shortGUID)
            for person in [ben, ann, zoe, cay] { _ = try await person.accept(guid) }
        }

        func set(_ permission: SharePermission, _ request: Request = .permissionAlone) async throws {
            guard var record = try await owner.lookup(share)[0].record else { throw WireError(.notFound, "no share") }
            record.sharing.details?.publicPermission = permission
            if request == .permissionAlone { record.sharing.details?.participants = [] }
            let message = ModifyRecordsRequest(operations: [RecordOperation(.update, record)], zoneID: owner.zone())
            var body = String(decoding: message.encoded(), as: UTF8.self)
            if request == .contradicts {
                let other: SharePermission = permission == .readOnly ? .readWrite : .readOnly
                let own = #""PUBLIC_USER","permission":""#
                #expect(body.contains(own + permission.rawValue))
                body.replace(own + permission.rawValue, with: own + other.rawValue)
            }
            let answer = await owner.send(.private, .modifyRecords, Array(body.utf8))
            #expect(try ModifyRecordsResponse(json: answer.body).results.map(\.outcome) == ["saved"])
        }

        /// The rights of a user: read, update, create, delete, request an upload address.
        func rights(_ person: Villager) async throws -> String {
            let read = try await person.lookup("sage", of: owner)[0].outcome
            let update = try await person.modify([RecordOperation(.forceUpdate, .plant("sage"))], of: owner)[0].outcome
            let created = try await person.modify([RecordOperation(.create, .plant("new", under: "sage"))], of: owner)[0].outcome
            if created == "saved" { try await owner.modify([RecordOperation(.forceDelete, Record(recordName: "new"))]) }
            try await owner.modify([RecordOperation(.forceUpdate, .plant("old", under: "sage"))])
            let deleted = try await person.modify([RecordOperation(.forceDelete, Record(recordName: "old"))], of: owner)[0].outcome
            let upload = AssetUploadRequest(
                items: [.init(recordType: "Plant", recordName: "sage", fieldName: "photo")], zoneID: person.zone(owner))
            let refused = await SharingTests.refusal {
                let answer = try await person.ask(.shared, .uploadAssets, upload, AssetUploadResponse.self)
                if case .failure(_, _, let error) = answer.results[0] { throw error }
            }
            return [read, update, created, deleted, refused?.code.rawValue ?? "saved"].map { outcome in
                switch outcome {
                case "saved", "deleted": "y"
                case "ACCESS_DENIED": "n"
                default: outcome
                }
            }.joined()
        }
    }

    @Test(arguments: Request.allCases, [true, false])
    func aChangeOfThePublicPermissionAppliesToParticipantsByLink(_ request: Request, _ isZoneWide: Bool) async throws {
        let scene = try await Scene(open: .readWrite, isZoneWide: isZoneWide)
        let (ben, ann) = (scene.ben, scene.ann)
        for person in [ben, ann, scene.cay] { #expect(try await scene.rights(person) == "yyyyy") }
        #expect(try await scene.rights(scene.zoe) == "ynnnn")
        let start = try #require(try await ben.changes(of: scene.owner).token)
        let zones = try await ben.sharedZones()

        try await scene.set(.readOnly, request)
        for person in [ben, ann, scene.zoe] { #expect(try await scene.rights(person) == "ynnnn") }
        #expect(try await scene.rights(scene.cay) == "yyyyy")
        // The participants' devices learn it from the feeds that they read anyway.
        #expect(try await ben.sharedZones(since: zones.syncToken).zones.map(\.isDeleted) == [false])
        guard case .changes(let page) = try await ben.changes(of: scene.owner, since: start) else {
            Issue.record("the feed was refused")
            return
        }
        let told = page.records.first { $0.recordName == scene.share }?.sharing.details
        #expect(told?.publicPermission == .readOnly)
        #expect(told?.currentParticipant?.permission == .readOnly)
        guard case .share(let metadata) = try await ben.resolve(scene.guid) else {
            Issue.record("the link leads nowhere")
            return
        }
        #expect(metadata.participantPermission == .readOnly)
        #expect(metadata.participantKind == .publicUser)
        let owners = try await scene.owner.lookup(scene.share)[0].record?.sharing.details?.participants ?? []
        #expect(owners.filter { $0.kind == .publicUser }.map(\.permission) == [.readOnly, .readOnly])
        #expect(owners.filter { $0.kind == .user }.map(\.permission) == [.readOnly, .readWrite])

        try await scene.set(.readWrite, request)
        for person in [ben, ann, scene.cay] { #expect(try await scene.rights(person) == "yyyyy") }
        #expect(try await scene.rights(scene.zoe) == "ynnnn")
    }

    @Test(arguments: [true, false]) func closingTheLinkRemovesItsParticipants(_ isZoneWide: Bool) async throws {
        let scene = try await Scene(open: .readWrite, isZoneWide: isZoneWide)
        let zones = try await scene.ben.sharedZones()
        try await scene.set(.none, .echoesParticipants)
        #expect(try await scene.ben.sharedZones(since: zones.syncToken).zones.map(\.isDeleted) == [true])
        for person in [scene.ben, scene.ann] { #expect(try await person.changes(of: scene.owner).error?.code == .zoneNotFound) }
        #expect(try await scene.rights(scene.zoe) == "ynnnn")
        #expect(try await scene.rights(scene.cay) == "yyyyy")
        // Opening the link again gives no access to former participants.
        try await scene.set(.readWrite)
        #expect(try await scene.ben.changes(of: scene.owner).error?.code == .zoneNotFound)
    }

    /// A participant that was invited by name has a permission of their own, also after joining by the link.
    @Test func anInvitationOfAPublicParticipantGivesAPermissionOfTheirOwn() async throws {
        let scene = try await Scene(open: .readOnly, isZoneWide: false)
        try await scene.owner.change(scene.share) { details in
            guard let index = details.participants.firstIndex(where: { $0.identity.userRecordName == scene.ben.name }) else { return }
            details.participants[index] = .invited("ben", .readWrite)
            details.participants[index].identity.userRecordName = scene.ben.name
        }
        #expect(try await scene.rights(scene.ben) == "yyyyy")
        #expect(try await scene.rights(scene.ann) == "ynnnn")
        try await scene.owner.change(scene.share) { details in
            guard let index = details.participants.firstIndex(where: { $0.identity.userRecordName == scene.ann.name }) else { return }
            details.participants[index].kind = .user
            details.participants[index].permission = .readOnly
            details.publicPermission = .none
        }
        #expect(try await scene.rights(scene.ben) == "yyyyy")
        #expect(try await scene.rights(scene.ann) == "ynnnn")
    }
}
