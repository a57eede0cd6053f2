// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// What a share becomes when somebody saves it: who takes part with which rights. States that only the participants
/// themselves can bring about stay as they are.
enum ShareDecision {
    /// - Parameters:
    ///   - incoming: What the request says; an empty list of participants leaves them as they are.
    ///   - current: The share there is.
    ///   - owner: The owner of the zone.
    /// - Throws: `WireError` with `.badRequest`.
    static func details(
        _ incoming: ShareDetails?, over current: ShareDetails?, owner: UserIdentity, _ limits: Limits,
        makeIdentifier: () -> String
    ) throws(WireError) -> ShareDetails {
        var details = current ?? ShareDetails()
        details.currentParticipantID = nil
        if let incoming {
            if current == nil { details.rootRecordName = incoming.rootRecordName }
            switch incoming.publicPermission {
            case .none, .readOnly, .readWrite: details.publicPermission = incoming.publicPermission
            case .unknown: break
            }
            if !incoming.participants.isEmpty {
                details.participants = try participants(incoming.participants, over: details.participants, makeIdentifier)
            }
        }
        details.rootRecordChangeTag = nil
        if details.publicPermission == .none {
            // Who came by the open link leaves when the link is closed.
            details.participants.removeAll { $0.kind == .publicUser }
        }
        details.participants.removeAll { $0.kind == .owner }
        let known = current?.owner
        details.participants.insert(
            ShareParticipant(
                participantID: known?.participantID ?? makeIdentifier(), identity: known?.identity ?? owner, kind: .owner,
                permission: .readWrite, status: .accepted), at: 0)
        guard details.participants.count <= limits.participantsPerShare else {
            throw WireError(
                .badRequest, "a share has at most \(limits.participantsPerShare) participants",
                nativeCode: .tooManyParticipants)
        }
        return details
    }

    private static func participants(
        _ incoming: [ShareParticipant], over current: [ShareParticipant], _ makeIdentifier: () -> String
    ) throws(WireError) -> [ShareParticipant] {
        var result: [ShareParticipant] = []
        for participant in incoming where participant.kind != .owner && participant.status != .removed {
            guard let known = current.first(where: { isSame($0, participant) }) else {
                guard participant.kind != .publicUser else { continue }
                guard !participant.identity.userRecordName.isEmpty || participant.identity.lookupInfo != nil else {
                    throw WireError(.badRequest, "a participant needs a user record name or something to look up")
                }
                guard !result.contains(where: { isSame($0, participant) }) else {
                    throw WireError(.badRequest, "somebody takes part twice")
                }
                result.append(
                    ShareParticipant(
                        participantID: makeIdentifier(), identity: participant.identity,
                        kind: participant.kind == .administrator ? .administrator : .user,
                        permission: permission(participant.permission), status: .invited))
                continue
            }
            var changed = known
            if known.kind != .publicUser, participant.kind == .administrator || participant.kind == .user {
                changed.kind = participant.kind
            }
            if participant.permission != .unknown { changed.permission = permission(participant.permission) }
            result.append(changed)
        }
        return result
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

extension ShareDetails {
    /// Those who have accepted, as far as access goes; the owner has the whole zone anyway.
    var members: [ShareMember] {
        participants.filter { participant in
            participant.kind != .owner && participant.status == .accepted && participant.permission != .none
                && !participant.identity.userRecordName.isEmpty
        }.map {
            ShareMember(
                user: $0.identity.userRecordName, canWrite: $0.permission == .readWrite,
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
