// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import ServiceFixtures
import Testing

/// Visibility of access requests and of links for one participant, and the users that may answer them.
@Suite struct AccessRequestTests {
    private typealias Villager = Village.Villager

    /// Asks as a client of the framework does, or as one that knows the documented protocol only.
    private func ask<Response: WireMessage>(
        _ who: Villager, _ scope: DatabaseScope, _ operation: ServicePath.Operation, _ message: any WireMessage,
        plainly: Bool = false, as type: Response.Type = Response.self
    ) async throws -> Response {
        var headers = ["authorization": "Bearer \(who.token)"]
        if !plainly { headers[HeaderNames.capabilities.lowercased()] = Capability.headerValue(Capability.ofEachRequest) }
        let path = ServicePath(
            containerIdentifier: Village.container, environment: .development, scope: scope, operation: operation)
        let answer = await who.village.service.respond(
            to: ServiceRequest(
                method: "POST", path: path.path, headers: RequestHeaders(headers), body: .bytes(message.encoded()),
                baseURL: "http://tarn.example"))
        guard case .bytes(let body) = answer.body, answer.status == 200 else { throw WireError(.internalError, "no answer") }
        return try Response(json: body)
    }

    private func request(_ who: Villager, _ guid: String) async throws -> WireError? {
        let request = ShortGUIDsRequest(shortGUIDs: [ShortGUID(value: guid)])
        return try await ask(who, .public, .requestAccess, request, as: AccessRequestsResponse.self).results[0].error
    }

    private func share(_ who: Villager, of owner: Villager? = nil, plainly: Bool = false) async throws -> ShareDetails {
        let request = LookupRecordsRequest(recordNames: ["share"], zoneID: who.zone(owner))
        let response: LookupRecordsResponse = try await ask(
            who, owner == nil ? .private : .shared, .lookupRecords, request, plainly: plainly)
        return try #require(response.results[0].record?.sharing.details)
    }

    private func change(
        _ who: Villager, of owner: Villager? = nil, plainly: Bool = false, _ body: (inout ShareDetails) -> Void
    ) async throws -> String {
        var record = Record(recordName: "share", recordType: ShareDetails.recordType)
        var details = try await share(who, of: owner, plainly: plainly)
        body(&details)
        record.sharing.details = details
        let request = ModifyRecordsRequest(operations: [RecordOperation(.forceUpdate, record)], zoneID: who.zone(owner))
        let response: ModifyRecordsResponse = try await ask(
            who, owner == nil ? .private : .shared, .modifyRecords, request, plainly: plainly)
        return response.results[0].outcome
    }

    @Test func onlyDecidingParticipantsSeeRequesters() async throws {
        let village = try Village()
        let (bo, eva, kim) = (try await village.villager("bo"), try await village.villager("eva"), try await village.villager("kim"))
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        #expect(try await request(eva, guid)?.code == .accessDenied, "nobody may ask before the owner says so")
        #expect(try await change(mia) { $0.allowsAccessRequests = true } == "saved")
        #expect(try await request(eva, guid) == nil)
        #expect(try await request(eva, guid) == nil)
        #expect(try await request(kim, guid) == nil)
        #expect(try await request(bo, guid)?.nativeCode == .participantAlreadyInvited)
        #expect(try await request(mia, guid)?.nativeCode == .participantAlreadyInvited)
        #expect(try await request(eva, String(guid.reversed()))?.code == .notFound)

        #expect(try await share(mia).requesters.map(\.userRecordName) == [eva.name, kim.name])
        let seen = try await share(bo, of: mia)
        #expect(seen.requesters.isEmpty)
        #expect(seen.allowsAccessRequests == true)
        let plain = try await share(mia, plainly: true)
        #expect(plain.requesters.isEmpty)
        #expect(plain.allowsAccessRequests == nil)
        #expect(plain.participants.allSatisfy { $0.added == nil })

        // An accepted user is not pending any more. A blocked user cannot request access, and no other user is notified of that.
        let result = try await change(mia) { details in
            details.participants.append(ShareParticipant(identity: UserIdentity(userRecordName: eva.name), permission: .readOnly))
            details.answers.blocked = [kim.name]
        }
        #expect(result == "saved")
        let answered = try await share(mia)
        #expect(answered.requesters.isEmpty)
        #expect(answered.blocked.map(\.userRecordName) == [kim.name])
        #expect(answered.participants.map(\.isApprovedRequester) == [false, false, true])
        #expect(try await request(kim, guid)?.reason == "the share takes no requests for access from the caller")
        #expect(try await share(bo, of: mia).blocked.isEmpty)
        #expect(try await bo.lookup("share", of: mia)[0].outcome == "saved")
        guard case .share = try await eva.accept(guid) else {
            Issue.record("eva was let in")
            return
        }
    }

    @Test func administratorsAnswerAndOthersCannot() async throws {
        let village = try Village()
        let (bo, eva, kim) = (try await village.villager("bo"), try await village.villager("eva"), try await village.villager("kim"))
        var administrator = ShareParticipant.invited("bo")
        administrator.kind = .administrator
        let (mia, guid) = try await village.bed(with: [administrator, .invited("eva")])
        _ = try await bo.accept(guid)
        _ = try await eva.accept(guid)
        #expect(try await change(mia) { $0.allowsAccessRequests = true } == "saved")
        #expect(try await request(kim, guid) == nil)
        #expect(try await change(eva, of: mia) { $0.answers.denied = [kim.name] } == "ACCESS_DENIED")
        #expect(try await share(bo, of: mia).requesters.map(\.userRecordName) == [kim.name])
        #expect(try await change(bo, of: mia) { $0.answers.denied = [kim.name] } == "saved")
        #expect(try await share(mia).requesters.isEmpty)
    }

    @Test func anOpenShareNeedsNoRequests() async throws {
        let village = try Village()
        let eva = try await village.villager("eva")
        let (mia, guid) = try await village.bed(open: .readOnly, with: [])
        #expect(try await change(mia) { $0.allowsAccessRequests = true } == "saved")
        #expect(try await request(eva, guid)?.code == .badRequest)
    }

    @Test func personalLinksAreVisibleToDecidingParticipantsAndSurviveOtherClients() async throws {
        let village = try Village()
        let (bo, eva) = (try await village.villager("bo"), try await village.villager("eva"))
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        var oneTime = ShareParticipant(participantID: "x-1", identity: UserIdentity(userRecordName: ""), permission: .readOnly)
        oneTime.isOneTime = true
        let invited = oneTime
        #expect(try await change(mia) { $0.participants.append(invited) } == "saved")
        #expect(try await change(mia) { $0.participants.append(invited) } == "BAD_REQUEST", "the identifier is taken")
        let link = try #require(try await share(mia).participants.last?.oneTimeGUID)
        #expect(try await share(bo, of: mia).participants.map(\.isOneTime) == [false, false])
        #expect(try await share(mia, plainly: true).participants.count == 2)
        // A client that does not know of it saves the share without it.
        #expect(try await change(mia, plainly: true) { $0.publicPermission = .none } == "saved")
        #expect(try await share(mia).participants.last?.oneTimeGUID == link)

        #expect(try await request(eva, link)?.code == .notFound, "it is no link to ask by")
        for wrong in [String(link.dropLast()) + (link.hasSuffix("0") ? "1" : "0"), String(link.dropLast(2)), guid + "00000000"] {
            guard case .failure(_, let error) = try await eva.resolve(wrong) else {
                Issue.record("\(wrong) leads somewhere")
                continue
            }
            #expect(error.code == .notFound)
        }
        guard case .share(let metadata) = try await eva.accept(link) else {
            Issue.record("the link leads nowhere")
            return
        }
        #expect(metadata.participantStatus == .accepted)
        #expect(metadata.participantPermission == .readOnly)
        #expect(try await eva.lookup("bed", of: mia)[0].outcome == "saved")
        #expect(try await share(mia).participants.last?.oneTimeGUID == nil)
        guard case .failure(_, let spent) = try await village.villager("kim").accept(link) else {
            Issue.record("the link holds twice")
            return
        }
        #expect(spent.code == .notFound)
    }
}
