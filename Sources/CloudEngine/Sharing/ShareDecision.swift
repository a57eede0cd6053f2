// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The state of a share after a save: its participants and their permissions. States that only the participants
/// themselves can bring about stay as they are.
enum ShareDecision {
    /// - Parameters:
    ///   - incoming: The details in the request; an empty list of participants keeps the stored ones.
    ///   - current: The share there is.
    ///   - owner: The owner of the zone.
    ///   - seesAll: Whether the client was shown participants without a user; otherwise they are kept.
    /// - Throws: `WireError` with `.badRequest`.
    static func details(
        _ incoming: ShareDetails?, over current: ShareDetails?, owner: UserIdentity, _ limits: Limits, now: Int64, seesAll: Bool,
        makeIdentifier: () -> String
    ) throws(WireError) -> ShareDetails {
        var details = current ?? ShareDetails()
        details.currentParticipantID = nil
        details.allowsAccessRequests = details.allowsAccessRequests ?? false
        // Closing the link removes public participants, except those that the same request invites by name.
        let before = details
        if let incoming {
            if let allows = incoming.allowsAccessRequests { details.allowsAccessRequests = allows }
            if current == nil { details.rootRecordName = incoming.rootRecordName }
            switch incoming.publicPermission {
            case .none, .readOnly, .readWrite: details.publicPermission = incoming.publicPermission
            case .unknown: break
            }
            if !incoming.participants.isEmpty {
                try checkCount(of: incoming.participants, limits)
                let unseen = seesAll ? [] : details.participants.filter(\.isUnknown)
                details.participants = try participants(incoming.participants, over: before, now, makeIdentifier) + unseen
            }
            details.carryOut(incoming.answers)
        }
        details.rootRecordChangeTag = nil
        details.participants.removeAll { $0.kind == .owner }
        let known = current?.owner
        details.participants.insert(
            ShareParticipant(
                participantID: known?.participantID ?? makeIdentifier(), identity: known?.identity ?? owner, kind: .owner,
                permission: .readWrite, status: .accepted, added: known == nil ? now : known?.added), at: 0)
        guard details.participants.count <= limits.participantsPerShare else { throw tooManyParticipants(limits) }
        return details
    }

    /// Rejects a list of more participants than a share may have before each is compared with all others, while other requests that write
    /// wait. The owner is not counted, nor are participants that the list removes, or that a share without a link drops.
    private static func checkCount(of incoming: [ShareParticipant], _ limits: Limits) throws(WireError) {
        let count = incoming.count { ![.owner, .publicUser].contains($0.kind) && $0.status != .removed }
        guard count < limits.participantsPerShare else { throw tooManyParticipants(limits) }
    }

    private static func tooManyParticipants(_ limits: Limits) -> WireError {
        WireError(
            .badRequest, "a share has at most \(limits.participantsPerShare) participants", nativeCode: .tooManyParticipants)
    }

    private static func participants(
        _ incoming: [ShareParticipant], over details: ShareDetails, _ now: Int64, _ makeIdentifier: () -> String
    ) throws(WireError) -> [ShareParticipant] {
        let current = details.participants
        var result: [ShareParticipant] = []
        for participant in incoming where participant.kind != .owner && participant.status != .removed {
            guard let known = current.first(where: { isSame($0, participant) }) else {
                guard participant.kind != .publicUser else { continue }
                if participant.isOneTime {
                    result.append(try oneTime(participant, besides: current + result, now, makeIdentifier))
                    continue
                }
                guard !participant.identity.userRecordName.isEmpty || participant.identity.lookupInfo != nil else {
                    throw WireError(.badRequest, "a participant needs a user record name or something to look up")
                }
                guard !result.contains(where: { isSame($0, participant) }) else {
                    throw WireError(.badRequest, "a participant is listed twice")
                }
                var invited = ShareParticipant(
                    participantID: makeIdentifier(), identity: participant.identity,
                    kind: participant.kind == .administrator ? .administrator : .user,
                    permission: permission(participant.permission), status: .invited, added: now)
                if let requester = details.requesters.first(where: { $0.isSamePerson(as: participant.identity) }) {
                    invited.isApprovedRequester = true
                    if invited.identity.name.isEmpty { invited.identity.name = requester.name }
                }
                result.append(invited)
                continue
            }
            guard !result.contains(where: { $0.participantID == known.participantID }) else {
                throw WireError(.badRequest, "a participant is listed twice")
            }
            var changed = known
            // Inviting a public participant by name gives the participant a permission of their own.
            if participant.kind == .administrator || participant.kind == .user {
                if known.kind == .publicUser { changed.permission = permission(participant.permission) }
                changed.kind = participant.kind
            }
            if participant.permission != .unknown { changed.permission = permission(participant.permission) }
            result.append(changed)
        }
        return result
    }

    /// A participant without a user. The identifier comes from the inviting client, so that the
    /// link can be found by it.
    private static func oneTime(
        _ participant: ShareParticipant, besides others: [ShareParticipant], _ now: Int64, _ makeIdentifier: () -> String
    ) throws(WireError) -> ShareParticipant {
        let id = participant.participantID ?? makeIdentifier()
        guard 1...64 ~= id.utf8.count, id.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), !others.contains(where: { $0.participantID == id })
        else { throw WireError(.badRequest, "the participantId is taken, or longer than 64 printable characters") }
        var invited = ShareParticipant(
            participantID: id, identity: UserIdentity(userRecordName: ""), permission: permission(participant.permission),
            status: .invited, added: now)
        invited.isOneTime = true
        return invited
    }

    private static func permission(_ asked: SharePermission) -> SharePermission {
        switch asked {
        case .none, .readOnly, .readWrite: asked
        case .unknown: .readOnly
        }
    }

    static func isSame(_ a: ShareParticipant, _ b: ShareParticipant) -> Bool {
        if let id = a.participantID, id == b.participantID { return true }
        if !a.identity.userRecordName.isEmpty, !b.identity.userRecordName.isEmpty {
            return a.identity.userRecordName == b.identity.userRecordName
        }
        return a.identity.lookupInfo != nil && a.identity.lookupInfo == b.identity.lookupInfo
    }
}

extension ShareParticipant {
    /// Whether the first user of the link becomes this participant.
    var isUnknown: Bool { isOneTime && identity.userRecordName.isEmpty }
}

extension UserIdentity {
    fileprivate func isSamePerson(as other: UserIdentity) -> Bool {
        !userRecordName.isEmpty && userRecordName == other.userRecordName
    }
}

extension ShareDetails {
    /// Applies decisions on requesters. A participant is neither a requester nor blocked.
    fileprivate mutating func carryOut(_ answers: AccessAnswers) {
        let blocking = Set(answers.blocked)
        blocked += requesters.filter { blocking.contains($0.userRecordName) }
        let names = Set(participants.map(\.identity.userRecordName))
        let answered = blocking.union(answers.denied).union(names)
        requesters.removeAll { answered.contains($0.userRecordName) }
        let unblocked = names.union(answers.unblocked)
        blocked.removeAll { unblocked.contains($0.userRecordName) }
    }

    /// The participants who have accepted, with their access; the owner has the whole zone anyway.
    var members: [ShareMember] {
        participants.filter { participant in
            participant.kind != .owner && participant.status == .accepted && participant.permission != .none
                && !participant.identity.userRecordName.isEmpty
        }.map {
            ShareMember(
                user: $0.identity.userRecordName, permission: $0.kind == .publicUser ? nil : $0.permission,
                isAdministrator: $0.kind == .administrator)
        }
    }

    /// The participant that a person is: by record name, else by an address that is the person's.
    func index(ofUser user: String, _ profile: AccountProfile?) -> Int? {
        if let index = participants.firstIndex(where: { $0.identity.userRecordName == user }) { return index }
        guard let profile else { return nil }
        return participants.firstIndex { participant in
            guard participant.identity.userRecordName.isEmpty else { return false }
            return switch participant.identity.lookupInfo {
            case .emailAddress(let address): profile.emailAddress?.lowercased() == address.lowercased()
            case .phoneNumber(let number): profile.phoneNumber == number
            case .userRecordName, nil: false
            }
        }
    }
}
