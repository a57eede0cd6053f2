// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Shares of a zone with their links and participants: `…/zones/{database}/{zone}/shares`.
///
/// The owner's own shares can be ended here, by the same request that an app sends, so that devices of participants receive it.
struct SharePages {
    static let removeVerb = "remove-participant"
    static let stopVerb = "stop-share"
    private static let sharesShown = 50
    /// Pages of the feed that the search in a shared zone reads at most.
    private static let feedPagesMax = 20

    let parent: ContainerPages
    let scope: DatabaseScope
    /// As in addresses.
    let zone: String

    private var form: QueryItems { parent.visit.fields }
    private var zoneID: ZoneID { RecordPages.zoneID(zone) }
    private var address: String { "\(parent.base)/zones/\(scope.rawValue)/\(NameSegment.encode(zone))/shares" }
    /// A consent permits to read.
    private var canChange: Bool { scope == .private && parent.consent == nil }
    /// A link gives access that lasts longer than a consent.
    private var showsLinks: Bool { parent.consent == nil }
    /// The address of the apps, which the console's own address is not.
    private var server: String { parent.pages.console.serviceAddress ?? parent.visit.request.baseURL }

    func respond() async throws -> ServiceResponse {
        guard parent.visit.isPost else { return try await list() }
        guard canChange else { return parent.problem("Only the owner of a zone changes its shares.", status: 403) }
        do {
            return try await change()
        } catch let error as WireError where [.badRequest, .conflict, .notFound].contains(error.code) {
            return try await list(problem: error.reason, status: error.code.httpStatus)
        }
    }

    // MARK: List

    private static let saved = ["removed": "The participant was removed.", "stopped": "The share was stopped."]

    private func list(problem: String? = nil, status: Int = 200) async throws -> ServiceResponse {
        let search = try await search()
        var rows: [[String: Any]] = []
        for record in search.records {
            if let details = record.sharing.details { rows.append(try await row(record, details, number: rows.count)) }
        }
        var values: [String: Any] = ["shares": rows, "back": "\(parent.base)/zones"]
        if let next = search.next {
            values["examined"] = search.examined
            values["more"] = "\(address)?marker=\(QueryItems.encode(next))"
        }
        if let problem { values["problem"] = problem }
        if let text = parent.visit.query["saved"].flatMap({ Self.saved[$0] }), !parent.visit.isPost { values["saved"] = text }
        return parent.page("shares", values, title: "Shares in \(zoneID.zoneName)", scripts: ["/console-reach.js"], status: status)
    }

    /// Shares among the newest records, as many as a page may examine.
    private func search() async throws -> (records: [Record], next: String?, examined: Int) {
        var (records, next, examined): ([Record], String?, Int) = ([], parent.visit.query["marker"], 0)
        guard scope != .shared else {
            for _ in 0..<Self.feedPagesMax {
                let query = ZoneChangesQuery(
                    zoneID: zoneID, syncToken: next, resultsLimit: ZonePages.pageRecords,
                    desiredRecordTypes: [ShareDetails.recordType], reverse: true)
                let response = try await ask(.zoneChanges, ZoneChangesRequest(zones: [query]), ZoneChangesResponse.self)
                guard case .changes(let changes)? = response.zones.first else { throw WireError(.zoneNotFound, "zone not found") }
                records += changes.records.filter { !$0.isDeleted }
                next = changes.moreComing ? changes.syncToken : nil
                examined += ZonePages.pageRecords
                if next == nil { break }
            }
            return (records, next, examined)
        }
        let (service, bounds) = (parent.service, parent.pages.console.scanBounds)
        let call = try await call(.reading)
        let end = service.now + bounds.millisecondsPerPage
        repeat {
            let scan = try await service.zoneContents.scan(
                zoneID, forType: ShareDetails.recordType, before: next.flatMap { Int64($0) }, limit: Self.sharesShown - records.count,
                examining: min(bounds.recordsPerRead, bounds.recordsPerPage - examined), call)
            records += scan.records
            examined += scan.examined
            next = scan.next.map { String($0) }
        } while next != nil && records.count < Self.sharesShown && examined < bounds.recordsPerPage && service.now < end
        return (records, next, examined)
    }

    private func row(_ record: Record, _ details: ShareDetails, number: Int) async throws -> [String: Any] {
        var participants: [[String: Any]] = []
        for participant in details.participants {
            var values: [String: Any] = [
                "name": try await name(of: participant), "kind": participant.kind.rawValue,
                "permission": participant.permission.rawValue, "status": participant.status.rawValue,
            ]
            if showsLinks, let guid = participant.oneTimeGUID {
                values["personal"] = ["id": "link\(number)-\(participants.count)", "text": "\(server)/share/\(guid)"]
            }
            if canChange, participant.kind != .owner, let id = participant.participantID { values["removal"] = ["id": id] }
            participants.append(values)
        }
        var values: [String: Any] = [
            "share": record.recordName, "tag": record.recordChangeTag ?? "", "root": details.rootRecordName ?? "the whole zone",
            "public": details.publicPermission.rawValue, "participants": participants,
            "address": RecordPages.address(parent.base, scope, zone, details.rootRecordName ?? record.recordName),
        ]
        if showsLinks, let guid = record.sharing.shortGUID { values["link"] = ["id": "link\(number)", "text": "\(server)/share/\(guid)"] }
        if canChange { values["canStop"] = true }
        return values
    }

    /// The account's name, else the name or the address of the invitation.
    private func name(of participant: ShareParticipant) async throws -> String {
        let identity = participant.identity
        if !identity.userRecordName.isEmpty,
            let profile = try await parent.service.directory.profile(ofUser: identity.userRecordName, in: parent.container)
        {
            return profile.accountName
        }
        let name = [identity.name.givenName, identity.name.familyName].compactMap { $0 }.joined(separator: " ")
        if !name.isEmpty { return name }
        return switch identity.lookupInfo {
        case .emailAddress(let text)?, .phoneNumber(let text)?: text
        case .userRecordName?, nil: participant.isOneTime ? "the first person with the link" : identity.userRecordName
        }
    }

    // MARK: Changes

    private func change() async throws -> ServiceResponse {
        let verb = form["do"] ?? ""
        guard verb == Self.removeVerb || verb == Self.stopVerb else { throw WireError(.badRequest, "The form has an unknown kind.") }
        let request = LookupRecordsRequest(recordNames: [form["share"] ?? ""], zoneID: zoneID)
        guard case .record(let share)? = try await ask(.lookupRecords, request, LookupRecordsResponse.self).results.first,
            var details = share.sharing.details
        else { throw WireError(.notFound, "The share does not exist any more.") }
        guard let tag = share.recordChangeTag, tag == form["tag"] else {
            throw WireError(.conflict, "The share changed after the page was shown. Its present state is below.")
        }
        // Other fields of the share keep their values.
        var record = Record(recordName: share.recordName, recordType: share.recordType, recordChangeTag: tag)
        if verb == Self.stopVerb {
            guard form["confirmed"] != nil else {
                return confirmation(share, "Stop the share?", "Stop the share", "All participants lose access to it.", isOpen: false)
            }
            try await modify(RecordOperation(.delete, record))
            return Page.redirect(address + "?saved=stopped")
        }
        let id = form["id"] ?? ""
        guard let participant = details.participants.first(where: { $0.participantID == id }), participant.kind != .owner else {
            throw WireError(.notFound, "The share has no such participant.")
        }
        guard form["confirmed"] != nil else {
            let name = try await name(of: participant)
            return confirmation(
                share, "Remove \(name) from the share?", "Remove \(name)", "\(name) loses access to it.",
                isOpen: details.publicPermission != .none)
        }
        details.participants.removeAll { $0.participantID == id }
        record.sharing.details = details
        try await modify(RecordOperation(.update, record))
        return Page.redirect(address + "?saved=removed")
    }

    /// - Parameter isOpen: Whether anyone with the link may join.
    private func confirmation(_ share: Record, _ title: String, _ button: String, _ text: String, isOpen: Bool) -> ServiceResponse {
        var values: [String: Any] = [
            "share": share.recordName, "tag": share.recordChangeTag ?? "", "do": form["do"] ?? "", "id": form["id"] ?? "", "text": text,
            "button": button, "back": address,
        ]
        if isOpen { values["isOpen"] = true }
        return parent.page("sharechange", values, title: title)
    }

    private func modify(_ operation: RecordOperation) async throws {
        let request = ModifyRecordsRequest(operations: [operation], zoneID: zoneID)
        let response = try await ask(.modifyRecords, request, ModifyRecordsResponse.self)
        if case .failure(_, let error, _)? = response.results.first { throw error }
    }

    // MARK: Requests

    /// The call of a client that sees participants without a user, with their links; a list without them would keep them.
    private func call(_ access: ContainerPages.Access) async throws -> Call {
        var call = try await parent.call(scope, access)
        if showsLinks { call.capabilities.insert(.accessRequests) }
        return call
    }

    private func ask<Response: WireMessage>(
        _ operation: ServicePath.Operation, _ message: some WireMessage, _ type: Response.Type
    ) async throws -> Response {
        let call = try await call(operation.changesData ? .writing : .reading)
        return try Response(json: try await parent.service.perform(operation, message.encoded(), as: call))
    }
}
