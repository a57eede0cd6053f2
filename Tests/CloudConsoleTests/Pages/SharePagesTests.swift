// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import TestBasics
import Testing

@testable import CloudConsole

/// Shares in the console: their links, their participants, and their end.
@Suite struct SharePagesTests {
    private static let page = "\(ConsoleTests.base)/zones/private/Garden/shares"

    private let village: Village
    private let visitor: BrowserSession
    private let mia: Village.Villager
    private let bo: Village.Villager
    private let guid: String

    /// The operator mia shares a bed with bo and zoe.
    init() async throws {
        village = try Village()
        bo = try await village.villager("bo")
        (mia, guid) = try await village.bed(with: [.invited("bo"), .invited("zoe", .readOnly)])
        _ = try await bo.accept(guid)
        try await village.store.setPassword("correct horse", ofUser: "mia")
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        visitor = BrowserSession(village)
        let signedIn = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        try #require(signedIn.status == 303)
    }

    private func details() async throws -> ShareDetails? { try await mia.lookup("share")[0].record?.sharing.details }

    /// The form of the page for a participant, or for the share.
    private func form(_ verb: String, of user: String? = nil) async throws -> [String: String] {
        let record = try #require(try await mia.lookup("share")[0].record)
        let participant = record.sharing.details?.participants.first { $0.identity.userRecordName == user }
        return [
            "do": verb, "share": "share", "tag": record.recordChangeTag ?? "", "id": user == nil ? "" : participant?.participantID ?? "",
        ]
    }

    private func events() async throws -> [String] {
        try await village.store.auditEvents(before: nil, limit: 100).map { "\($0.event.action) \($0.event.subject) \($0.event.outcome)" }
    }

    @Test func aShareHasItsLinkAndItsParticipants() async throws {
        let text = await visitor.get(Self.page).text
        #expect(text.contains(#"<pre id="link0">http://tarn.example/share/\#(guid)</pre>"#))
        #expect(text.contains(#"data-copies="link0""#))
        #expect(text.contains("<td>bo</td><td>USER</td><td>READ_WRITE</td><td>ACCEPTED</td>"))
        #expect(text.contains("<td>zoe@example.org</td><td>USER</td><td>READ_ONLY</td><td>INVITED</td>"))
        #expect(text.contains(#"aria-label="Remove bo""#))
        #expect(!text.contains(#"aria-label="Remove mia""#))
    }

    @Test func aRemovedParticipantsDevicesAreInformed() async throws {
        let token = try await bo.sharedZones().syncToken
        let form = try await form(SharePages.removeVerb, of: bo.name)
        let asked = await visitor.post(Self.page, form)
        #expect(asked.text.contains("Remove bo from the share?"))
        #expect(try await details()?.participants.count == 3)
        let done = await visitor.post(Self.page, form.merging(["confirmed": "yes"]) { $1 })
        #expect(done.location == Self.page + "?saved=removed")
        #expect(await visitor.get(done.location ?? "").text.contains("The participant was removed."))
        #expect(try await details()?.participants.map(\.status) == [.accepted, .invited])
        #expect(try await bo.changes(of: mia).error?.code == .zoneNotFound)
        #expect(try await bo.sharedZones(since: token).zones.map(\.zoneID) == [mia.zone(mia)])
        let place = "\(Village.container) development"
        #expect(try await events().contains("console.zones.remove-participant \(place) done"))
    }

    @Test func aStoppedShareLeavesItsRecords() async throws {
        let form = try await form(SharePages.stopVerb)
        #expect(await visitor.post(Self.page, form).text.contains("Stop the share?"))
        #expect(await visitor.post(Self.page, form.merging(["confirmed": "yes"]) { $1 }).status == 303)
        #expect(try await mia.lookup("share", "bed").map(\.outcome) == ["NOT_FOUND", "saved"])
        #expect(try await bo.changes(of: mia).error?.code == .zoneNotFound)
        #expect(await visitor.get(Self.page).text.contains("There are no shares."))
        #expect(try await events().contains("console.zones.stop-share \(Village.container) development done"))
    }

    @Test func anEndNeedsAConfirmation() async throws {
        village.clock.advance(seconds: 300)
        for form in [try await form(SharePages.removeVerb, of: bo.name), try await form(SharePages.stopVerb)] {
            let confirmed = form.merging(["confirmed": "yes"]) { $1 }
            #expect(await visitor.post(Self.page, confirmed).text.contains("name=\"confirm-password\""))
        }
        #expect(try await details()?.participants.count == 3)
        let form = try await form(SharePages.stopVerb)
        let right = form.merging(["confirmed": "yes", "confirm-password": "correct horse"]) { $1 }
        #expect(await visitor.post(Self.page, right).status == 303)
        #expect(try await details() == nil)
    }

    @Test func aShareThatChangedIsShownAgain() async throws {
        let form = try await form(SharePages.removeVerb, of: bo.name)
        try await mia.change("share") { $0.publicPermission = .readOnly }
        let refused = await visitor.post(Self.page, form.merging(["confirmed": "yes"]) { $1 })
        #expect(refused.status == 409)
        #expect(refused.text.contains("The share changed after the page was shown."))
        #expect(try await details()?.participants.contains { $0.identity.userRecordName == bo.name } == true)
        let open = await visitor.post(Self.page, try await self.form(SharePages.removeVerb, of: bo.name))
        #expect(open.text.contains("Anyone with the link may join"))
        let owner = await visitor.post(Self.page, try await self.form(SharePages.removeVerb, of: mia.name))
        #expect(owner.status == 404)
    }

    /// A participant sees the share and does not change it here.
    @Test func sharesOfOthersAreNotChanged() async throws {
        try await village.store.setPassword("battery staple", ofUser: "bo")
        try await village.store.updateProfile(ofUser: "bo") { $0.isOperator = true }
        let other = BrowserSession(village)
        _ = await other.post("/console/signin", ["name": "bo", "password": "battery staple"], code: "")
        let page = "\(ConsoleTests.base)/zones/shared/\(QueryItems.encode("\(mia.name)/Garden"))/shares"
        let text = await other.get(page).text
        #expect(text.contains("<td>mia</td>"))
        #expect(!text.contains("stop-share"))
        let refused = await other.post(page, try await form(SharePages.stopVerb).merging(["confirmed": "yes"]) { $1 })
        #expect(refused.status == 403)
        #expect(try await details() != nil)
    }
}
