// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The effects of one modify request on shares and hierarchies: checked operation by operation, carried out
/// after the records are written.
///
/// Source: *CloudKit Web Services Reference*, "Sharing Records"; Apple's documentation of `CKShare` and of
/// `CKRecord.parent`.
struct SharingBatch {
    /// Levels of a hierarchy.
    static let levelsMax = 100

    private let zone: StoredZone
    private let rules: RecordRules
    private let unit: any PartitionWriter
    private let call: Call
    let access: ShareAccess

    /// Names in the batch that are to be saved, with their parents.
    private var parents: [String: String?] = [:]
    private var shareNames: [String: String?] = [:]
    private let hadShares: Bool

    init(_ names: [String], zone: StoredZone, _ rules: RecordRules, _ unit: any PartitionWriter, _ call: Call) throws {
        self.zone = zone
        self.rules = rules
        self.unit = unit
        self.call = call
        access = try ShareAccess(unit, zone: zone, call)
        hadShares = try call.partition.scope == .private && !zone.isDefault && unit.hasShares(inZone: zone.key)
        if hadShares { for (name, share) in try unit.shareNames(ofRecords: names, in: zone.key) { shareNames[name] = share } }
    }

    private func share(of name: String) throws -> String? {
        if let known = shareNames[name] { return known }
        return try hadShares ? unit.shareNames(ofRecords: [name], in: zone.key)[name] : nil
    }

    // MARK: Checks

    /// Whether the record there is may be shown to the caller.
    func canSee(_ record: Record) throws -> Bool {
        guard access.isParticipant else { return true }
        return access.canRead(record.recordName, share: try share(of: record.recordName))
    }

    /// Rejects an operation without permission, before an error reveals anything about the stored record.
    mutating func check(_ operation: RecordOperation, over current: Record?) throws {
        guard access.isParticipant else { return }
        let name = operation.record.recordName
        if let current {
            // Also without access: the participant stays listed in the share.
            if current.isLeft(by: operation, call) { return }
            guard try canSee(current) else {
                // As for a free name, where the participant may not create: the error must not tell that the record exists.
                if [.create, .forceUpdate, .forceReplace].contains(operation.kind) { _ = try shareOfNewRecord(operation) }
                throw operation.kind == .create
                    ? WireError(.accessDenied, "the participant may not write here") : WireError(.notFound, "record not found")
            }
            if current.recordType == ShareDetails.recordType {
                guard access.membership(ofShare: name)?.isAdministrator == true else {
                    throw WireError(.accessDenied, "only the owner and administrators change a share")
                }
                return
            }
            guard access.canWrite(name, share: try share(of: name)) else {
                throw WireError(.accessDenied, "the participant may only read")
            }
            if operation.kind == .delete || operation.kind == .forceDelete {
                guard try unit.share(ofRoot: name, in: zone.key) == nil else {
                    throw WireError(.accessDenied, "only the owner deletes the root of a share")
                }
            }
            return
        }
        guard operation.kind != .delete, operation.kind != .forceDelete, operation.kind != .update, operation.kind != .replace
        else { return }
        if let share = try shareOfNewRecord(operation) { shareNames[name] = share }
    }

    /// The share in which a participant creates a record; nil in a zone that is shared as a whole.
    ///
    /// - Throws: `WireError` with `.accessDenied` where the participant may not create it.
    private func shareOfNewRecord(_ operation: RecordOperation) throws -> String? {
        guard operation.record.recordType != ShareDetails.recordType else {
            throw WireError(.accessDenied, "only the owner shares")
        }
        guard access.visibleShares != nil else {
            guard access.canWriteAnything else { throw WireError(.accessDenied, "the participant may only read") }
            return nil
        }
        guard let parent = operation.record.sharing.parent, let share = try share(of: parent),
            access.canWrite(parent, share: share)
        else {
            throw WireError(.accessDenied, "a participant's new record needs a parent in a share that the participant may write")
        }
        return share
    }

    /// The share after the caller has left it; nil if the operation does not leave a share.
    func left(_ operation: RecordOperation, _ current: Record?) -> Record? {
        guard access.isParticipant, var share = current, share.isLeft(by: operation, call) else { return nil }
        share.sharing.details?.participants.removeAll {
            $0.kind != .owner && $0.identity.userRecordName == call.caller.userRecordName
        }
        return share
    }

    /// Merges the request's parents and shares into the stored ones.
    ///
    /// - Parameter present: Whether a record is there, or will be by this request.
    mutating func complete(
        _ record: inout Record, _ operation: RecordOperation, over current: Record?, present: (String) throws -> Bool
    ) throws {
        let incoming = operation.record.sharing
        var keys = current?.sharing ?? RecordSharing()
        keys.share = nil
        if let parent = incoming.parent {
            keys.parent = parent.isEmpty ? nil : parent
        } else if operation.kind == .replace || operation.kind == .forceReplace {
            keys.parent = nil
        }
        if keys.parent != current?.sharing.parent { try checkParent(keys.parent, of: record.recordName) }
        if incoming.createsShortGUID, keys.shortGUID == nil {
            try checkPlace()
            keys.shortGUID = try link(to: record.recordName)
        }
        if record.recordType == ShareDetails.recordType {
            if current?.sharing.details == nil, operation.kind != .forceUpdate, operation.kind != .forceReplace {
                try checkRoot(incoming.details)
            }
            try completeShare(&keys, record, incoming.details, over: current?.sharing.details, present: present)
        }
        parents[record.recordName] = keys.parent
        record.sharing = keys
    }

    private func checkPlace() throws(WireError) {
        guard call.partition.scope == .private, !zone.isDefault else {
            throw WireError(.badRequest, "only records in custom zones of the private database are shared")
        }
    }

    /// The client shares the version of a record that it has read; changes of this request are later.
    private func checkRoot(_ details: ShareDetails?) throws {
        guard let name = details?.rootRecordName, let tag = details?.rootRecordChangeTag,
            let root = try unit.records(named: [name], in: zone.key)[name]?.record, !root.isDeleted, root.recordChangeTag != tag
        else { return }
        throw WireError(.conflict, "client oplock error: the record to share has changed")
    }

    private func completeShare(
        _ keys: inout RecordSharing, _ record: Record, _ incoming: ShareDetails?, over current: ShareDetails?,
        present: (String) throws -> Bool
    ) throws {
        try checkPlace()
        let owner = UserIdentity(
            userRecordName: call.partition.owner, name: call.isParticipant ? NameComponents() : call.callerName)
        let details = try ShareDecision.details(
            incoming, over: current, owner: owner, rules.limits, now: call.now,
            seesAll: call.capabilities.contains(.accessRequests), makeIdentifier: call.makeIdentifier)
        let isZoneWide = record.recordName == ShareDetails.zoneShareName
        if current == nil {
            if isZoneWide {
                guard details.rootRecordName == nil else {
                    throw WireError(.badRequest, "the share of a zone has no forRecord")
                }
                guard try !unit.hasShares(inZone: zone.key) else {
                    throw WireError(.badRequest, "records of the zone are shared already", nativeCode: .alreadyShared)
                }
            } else {
                guard let root = details.rootRecordName else {
                    throw WireError(.badRequest, "a share needs forRecord, the record to share")
                }
                guard try present(root) else {
                    throw WireError(.notFound, "Cannot share - no such record exists to share")
                }
                guard try unit.share(ofRoot: nil, in: zone.key) == nil, try share(of: root) == nil,
                    try unit.share(ofRoot: root, in: zone.key) == nil
                else { throw WireError(.badRequest, "the record is shared already", nativeCode: .alreadyShared) }
            }
            keys.shortGUID = try link(to: details.rootRecordName ?? record.recordName)
        }
        keys.details = details
        keys.parent = nil
    }

    private func link(to name: String) throws -> String {
        ShareLink(number: try unit.link(to: name, in: zone.key)).text(by: rules.sealer)
    }

    private func checkParent(_ parent: String?, of name: String) throws {
        guard let parent else {
            guard access.visibleShares == nil else {
                throw WireError(.accessDenied, "a participant cannot take a record out of its share")
            }
            return
        }
        if let error = NameChecks.record(parent, rules.limits) { throw error }
        if access.isParticipant, access.visibleShares != nil {
            guard let share = try share(of: parent), access.canWrite(parent, share: share) else {
                throw WireError(.accessDenied, "the parent is in no share that the participant may write")
            }
        }
        var above: String? = parent
        for _ in 0..<Self.levelsMax {
            guard let next = above else { return }
            guard next != name else { throw WireError(.badRequest, "a record cannot be above itself") }
            if let known = parents[next] { above = known } else { above = try unit.parent(of: next, in: zone.key) }
        }
        throw WireError(.badRequest, "a hierarchy has at most \(Self.levelsMax) levels")
    }

    // MARK: Effects

    /// Applies the effects of the written records on shares.
    ///
    /// - Parameters:
    ///   - number: Number of the last change so far.
    ///   - before: The records that there were.
    /// - Returns: Number of the last change, notifications for participants, and the bytes that records which were not
    ///   asked for take more than before.
    mutating func finish(
        _ written: [StoredRecord], lastChange number: Int64, before: (String) -> Record?
    ) throws -> (change: Int64, news: [ShareNews], bytes: Int64, deletions: [ChangeLogEntry.Change]) {
        guard call.partition.scope == .private, !zone.isDefault else { return (number, [], 0, []) }
        let concerns = written.contains { stored in
            stored.record.sharingIsPresent || before(stored.record.recordName)?.sharingIsPresent == true
        }
        guard hadShares || concerns else { return (number, [], 0, []) }
        let membersBefore = try unit.members(inZone: zone.key)
        var effects = SharingEffects(zone: zone.key, unit: unit, number: number, now: call.now)
        var formerRoots: [String] = []
        for stored in written {
            let (record, old) = (stored.record, before(stored.record.recordName))
            if record.isDeleted ? old?.sharing.parent != nil : record.sharing.parent != old?.sharing.parent {
                try unit.setParent(record.isDeleted ? nil : record.sharing.parent, of: record.recordName, in: zone.key)
            }
            if let details = record.sharing.details {
                try effects.save(details, of: record.recordName, before: old?.sharing.details)
            } else if record.isDeleted, old?.recordType == ShareDetails.recordType {
                try effects.removeShare(named: record.recordName)
                if let root = old?.sharing.details?.rootRecordName { formerRoots.append(root) }
            }
        }
        for stored in written { try effects.place(stored) }
        for root in formerRoots { try effects.rejoin(root) }
        let news = try effects.news(zoneName: zone.name, membersBefore: membersBefore, call)
        return (effects.number, news, effects.bytes, effects.deletions)
    }
}

extension Record {
    /// Whether an operation of a participant leaves this share: its deletion in the shared database does.
    func isLeft(by operation: RecordOperation, _ call: Call) -> Bool {
        guard call.isParticipant, operation.kind == .delete || operation.kind == .forceDelete, !isDeleted,
            recordType == ShareDetails.recordType, let details = sharing.details
        else { return false }
        return details.participants.contains { $0.kind != .owner && $0.identity.userRecordName == call.caller.userRecordName }
    }
}
