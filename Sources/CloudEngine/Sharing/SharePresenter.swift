// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Adds to records of a response the share that they are in, and the caller's participant.
struct SharePresenter {
    private let view: any PartitionReader
    private let zone: StoredZone
    private let call: Call
    private let sealer: Sealer
    /// Whether there is anything to add.
    let isShared: Bool
    private let zoneShare: String?

    init(_ view: any PartitionReader, _ zone: StoredZone, _ call: Call, _ sealer: Sealer) throws {
        self.view = view
        self.zone = zone
        self.call = call
        self.sealer = sealer
        isShared = try call.partition.scope == .private && !zone.isDefault && view.hasShares(inZone: zone.key)
        zoneShare = isShared ? try view.share(ofRoot: nil, in: zone.key)?.name : nil
    }

    func complete(_ record: Record) throws -> Record {
        guard isShared, !record.isDeleted else { return record }
        var record = record
        if record.recordType == ShareDetails.recordType {
            record.sharing.present(to: call, by: sealer)
        } else {
            record.sharing.share = try zoneShare ?? view.shareNames(ofRecords: [record.recordName], in: zone.key)[record.recordName]
        }
        return record
    }

    func complete(_ result: RecordResult) throws -> RecordResult {
        switch result {
        case .record(let record): .record(try complete(record))
        case .failure(let name, let error, let serverRecord):
            .failure(recordName: name, error, serverRecord: try serverRecord.map { try complete($0) })
        }
    }
}

extension RecordSharing {
    /// Reduces the stored details of a share to those that the caller may see: the caller's participant; and if the caller requests
    /// it, what there is about access, of which others than the owner and administrators learn little.
    ///
    /// - Parameter participantID: Of the caller, where that is known.
    mutating func present(to call: Call, participantID: String? = nil, by sealer: Sealer) {
        guard var details else { return }
        let caller = call.caller.userRecordName
        let own = details.participants.first { participant in
            if let participantID { participant.participantID == participantID } else { participant.identity.userRecordName == caller }
        }
        details.currentParticipantID = own?.participantID
        let asked = call.capabilities.contains(.accessRequests)
        let decides = asked && (caller == call.partition.owner || own?.kind == .administrator)
        if !asked { details.allowsAccessRequests = nil }
        if !decides { (details.requesters, details.blocked) = ([], []) }
        let link = decides ? shortGUID.flatMap { ShareLink(unchecked: $0) } : nil
        for index in details.participants.indices {
            if !asked {
                details.participants[index].added = nil
                details.participants[index].isApprovedRequester = false
            }
            guard let link, details.participants[index].isOneTime, details.participants[index].status == .invited,
                let id = details.participants[index].participantID
            else { continue }
            details.participants[index].oneTimeGUID = OneTimeLink(to: link, participantID: id, by: sealer).text
        }
        // Participants without a user are useless to callers that do not decide, and unreadable without the capability.
        if !decides { details.participants.removeAll { $0.isUnknown && $0.participantID != own?.participantID } }
        self.details = details
    }
}
