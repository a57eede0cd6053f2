// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// What links of shares lead to, and requests to take part in shares.
package struct ShareRequests: Sendable {
    let limits: Limits
    let sealer: Sealer

    /// The number in a link, or nil for another text.
    ///
    /// The number can be forged; whether the link is valid is seen once the share is at hand.
    package func link(inShortGUID text: String) -> Int64? {
        ShareLink(unchecked: text)?.number ?? OneTimeLink(text)?.number
    }

    /// Index of the participant that a link is for: the caller, else the person that the link was made for.
    ///
    /// - Returns: Nil for a caller that is not a participant, and used the share's own link.
    /// - Throws: `WireError` with `.notFound` for a link without a participant, or one that another user has used.
    private func index(
        of shortGUID: ShortGUID, in details: ShareDetails, _ profile: AccountProfile?, _ call: Call
    ) throws -> Int? {
        let caller = call.caller.userRecordName
        let oneTime = OneTimeLink(shortGUID.value)
        guard let oneTime else { return details.index(ofUser: caller, profile) }
        guard let index = details.participants.firstIndex(where: { oneTime.isFor($0, by: sealer) }) else { throw Self.notShared }
        let user = details.participants[index].identity.userRecordName
        guard user.isEmpty || user == caller || caller == call.partition.owner else { throw Self.notShared }
        return details.index(ofUser: caller, profile) ?? index
    }

    /// The target of a link, for callers that may see it: the owner, participants, and all users if the share is open.
    ///
    /// - Parameter profile: The caller's own addresses, by which an invitation may be found.
    /// - Throws: `WireError` with `.notFound` if nothing is shared, `.accessDenied` if the caller is not invited.
    ///
    /// Source: *CloudKit Web Services Reference*, "Fetching Record Information".
    package func resolve(
        _ shortGUID: ShortGUID, _ target: LinkTarget, _ profile: AccountProfile?, in view: any PartitionReader, _ call: Call
    ) throws -> ShareMetadata {
        let (zone, share) = try sharedRecord(target, shortGUID, in: view)
        guard let details = share.sharing.details else { throw Self.notShared }
        let isOwner = call.caller.userRecordName == call.partition.owner
        let index = try index(of: shortGUID, in: details, profile, call)
        let participant = isOwner ? details.owner : index.map { details.participants[$0] }
        guard participant != nil || details.publicPermission == .readOnly || details.publicPermission == .readWrite else {
            throw Self.isNotForCaller(details)
        }
        return try metadata(shortGUID, zone, share, details, participant, isOwner: isOwner, in: view, call)
    }

    /// Makes the caller a participant of a link's share.
    ///
    /// Source: *CloudKit Web Services Reference*, "Accepting Share Records".
    package func accept(
        _ shortGUID: ShortGUID, _ target: LinkTarget, _ profile: AccountProfile?, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<ShareMetadata> {
        let (zone, share) = try sharedRecord(target, shortGUID, in: unit)
        guard var details = share.sharing.details else { throw Self.notShared }
        guard call.caller.userRecordName != call.partition.owner else {
            return Outcome(try resolve(shortGUID, target, profile, in: unit, call))
        }
        let user = call.caller.userRecordName
        let index: Int
        if let known = try self.index(of: shortGUID, in: details, profile, call) {
            index = known
        } else if details.publicPermission == .readOnly || details.publicPermission == .readWrite {
            guard details.participants.count < limits.participantsPerShare else {
                throw WireError(
                    .badRequest, "a share has at most \(limits.participantsPerShare) participants",
                    nativeCode: .tooManyParticipants)
            }
            details.participants.append(
                ShareParticipant(
                    participantID: call.makeIdentifier(), identity: UserIdentity(userRecordName: user), kind: .publicUser,
                    permission: details.publicPermission, added: call.now))
            index = details.participants.count - 1
        } else {
            throw Self.isNotForCaller(details)
        }
        let before = share.sharing.details
        details.participants[index].identity.userRecordName = user
        if let profile { details.participants[index].identity.name = profile.name }
        details.participants[index].status = .accepted
        details.requesters.removeAll { $0.userRecordName == user }
        guard details != before else {
            return Outcome(
                try metadata(shortGUID, zone, share, details, details.participants[index], isOwner: false, in: unit, call))
        }
        var changed = share
        changed.sharing.details = details
        let (saved, news, notifications) = try ShareWriter(zone, unit, call).store(changed, over: share)
        var outcome = Outcome(
            try metadata(shortGUID, zone, saved, details, details.participants[index], isOwner: false, in: unit, call),
            notifications: notifications)
        outcome.news = news
        return outcome
    }

    /// Lets the owner and administrators of a share know that the caller wants to take part. Asking again changes nothing.
    ///
    /// - Throws: `WireError` with `.notFound` if nothing is shared; `.accessDenied` if requests are not allowed, or not from the
    ///   caller; `.badRequest` for a participant, for a share that is open by link, and if too many requests wait.
    ///
    /// Source: Apple's documentation of `CKShareRequestAccessOperation`; there is no published endpoint.
    package func requestAccess(
        _ shortGUID: ShortGUID, _ target: LinkTarget, _ profile: AccountProfile?, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<AccessRequestResult> {
        let (zone, share) = try sharedRecord(target, shortGUID, in: unit)
        guard var details = share.sharing.details, OneTimeLink(shortGUID.value) == nil else { throw Self.notShared }
        let user = call.caller.userRecordName
        guard user != call.partition.owner, details.index(ofUser: user, profile) == nil else {
            throw WireError(.badRequest, "the caller takes part in the share already", nativeCode: .participantAlreadyInvited)
        }
        // A blocked caller gets the same error as a caller of a share without requests.
        guard details.allowsAccessRequests == true, !details.blocked.contains(where: { $0.userRecordName == user }) else {
            throw WireError(.accessDenied, "the share takes no requests for access from the caller")
        }
        guard details.publicPermission == .none else {
            throw WireError(.badRequest, "the share is open by link: join it without a request")
        }
        let result = AccessRequestResult(shortGUID: shortGUID)
        guard !details.requesters.contains(where: { $0.userRecordName == user }) else { return Outcome(result) }
        guard details.requesters.count < limits.participantsPerShare else {
            throw WireError(.badRequest, "too many people wait for an answer", nativeCode: .tooManyParticipants)
        }
        details.requesters.append(UserIdentity(userRecordName: user, name: profile?.name ?? NameComponents()))
        var changed = share
        changed.sharing.details = details
        let (_, news, notifications) = try ShareWriter(zone, unit, call).store(changed, over: share)
        var outcome = Outcome(result, notifications: notifications)
        outcome.news = news
        return outcome
    }

    /// A person who was invited by an address without an account may be the caller, if the caller's account has no address.
    private static func isNotForCaller(_ details: ShareDetails) -> WireError {
        let mayBeCaller = details.participants.contains {
            $0.status == .invited && $0.identity.userRecordName.isEmpty && $0.identity.lookupInfo != nil
        }
        return WireError(
            .accessDenied, "the share is not for the caller", nativeCode: mayBeCaller ? .participantMayNeedVerification : nil)
    }

    private static let notShared = WireError(.notFound, "nothing is shared at this link")

    /// - Throws: `WireError` with `.notFound` if nothing is shared, or the link is not the share's. A participant's own link is checked by its
    ///   participant.
    private func sharedRecord(_ target: LinkTarget, _ shortGUID: ShortGUID, in view: any PartitionReader) throws -> (StoredZone, Record) {
        guard let zone = try view.zone(named: target.zoneName), !zone.isDeleted else { throw Self.notShared }
        let root = target.recordName == ShareDetails.zoneShareName ? nil : target.recordName
        guard let share = try view.share(ofRoot: root, in: zone.key),
            let record = try view.records(named: [share.name], in: zone.key)[share.name]?.record, !record.isDeleted,
            OneTimeLink(shortGUID.value) != nil || ShareLink.isLink(shortGUID.value, to: record, by: sealer)
        else { throw Self.notShared }
        return (zone, record)
    }

    private func metadata(
        _ shortGUID: ShortGUID, _ zone: StoredZone, _ share: Record, _ details: ShareDetails, _ participant: ShareParticipant?,
        isOwner: Bool, in view: any PartitionReader, _ call: Call
    ) throws -> ShareMetadata {
        let addresses = AssetAddresses(sealer: sealer, call, secondsValid: limits.assetDownloadSeconds)
        let zoneID = ZoneID(zoneName: zone.name, ownerRecordName: call.partition.owner)
        let permission = participant.flatMap { $0.kind == .publicUser ? nil : $0.permission } ?? details.publicPermission
        let mayRead = isOwner || permission == .readOnly || permission == .readWrite
        var root: Record?
        if mayRead, shortGUID.shouldFetchRootRecord, let name = details.rootRecordName {
            root = try view.records(named: [name], in: zone.key)[name]?.record
            root?.sharing.share = share.recordName
        }
        var shown = share
        shown.sharing.present(to: call, participantID: participant?.participantID, by: sealer)
        return ShareMetadata(
            shortGUID: shortGUID, containerIdentifier: call.partition.containerIdentifier,
            environment: call.partition.environment, scope: isOwner ? .private : .shared, zoneID: zoneID,
            rootRecordName: details.rootRecordName,
            rootRecord: root.flatMap { $0.isDeleted ? nil : $0 }?
                .presented(zoneID: zoneID, desiredKeys: shortGUID.rootRecordDesiredKeys.map { Set($0) }, addresses),
            share: shown.presented(zoneID: zoneID, desiredKeys: nil, addresses),
            owner: details.owner?.identity ?? UserIdentity(userRecordName: call.partition.owner),
            participantKind: participant?.kind ?? .publicUser,
            participantPermission: participant?.permission ?? details.publicPermission,
            participantStatus: participant?.status ?? .invited)
    }
}
