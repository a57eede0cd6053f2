// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Adds to records, as they are answered, which share they are in and who of its participants the caller is.
struct SharePresenter {
    private let view: any PartitionView
    private let zone: StoredZone
    private let caller: String
    /// Whether there is anything to add.
    let isShared: Bool
    private let zoneShare: String?

    init(_ view: any PartitionView, _ zone: StoredZone, _ call: Call) throws {
        self.view = view
        self.zone = zone
        caller = call.caller.userRecordName
        isShared = try call.partition.scope == .private && !zone.isDefault && view.hasShares(inZone: zone.key)
        zoneShare = isShared ? try view.share(ofRoot: nil, in: zone.key)?.name : nil
    }

    func complete(_ record: Record) throws -> Record {
        guard isShared, !record.isDeleted else { return record }
        var record = record
        if record.recordType == ShareDetails.recordType {
            let own = record.sharing.details?.participants.first { $0.identity.userRecordName == caller }
            record.sharing.details?.currentParticipantID = own?.participantID
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
