// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

// Sync metadata after the server was restored from a backup.

/// The records that a device sends again to a server that lost them.
enum SentAgain {
    case all
    /// Records of a share's participant. Those that the owner relocated to the share are the owner's to send: with another creator they would
    /// not be relocations.
    case exceptRelocated

    fileprivate static let isRelocated = "instr(COALESCE(unapplied, x''), CAST('\(MirrorNames.moveReceipt)' AS BLOB)) > 0"

    /// An SQL condition on a row of TARN_RECORD.
    var condition: String {
        switch self {
        case .all: "1"
        case .exceptRelocated: "NOT (\(Self.isRelocated))"
        }
    }
}

extension RestoredVersion {
    /// The condition that the version of a row is lost. Numbers in base 36, whose digits are in the order of their characters.
    ///
    /// - Parameter placeholder: That of this version's change tag.
    fileprivate static func isLost(after placeholder: String) -> String {
        "(LENGTH(tag) > LENGTH(\(placeholder)) OR LENGTH(tag) = LENGTH(\(placeholder)) AND tag > \(placeholder))"
    }
}

extension SyncMetadataReader {
    /// Returns `true` if a restored server lacks versions of records of a share that this participant does not send again: that the owner has
    /// relocated there, or that the participant created or changed last, and may not change any more.
    ///
    /// - Parameters:
    ///   - version: The last version in the backup; nil if any may be lost.
    ///   - user: Record name of the participant; nil if it may write.
    func hasLostRecords(after version: RestoredVersion?, of user: String?) throws -> Bool {
        let isLost = version == nil ? "?2 IS NULL" : RestoredVersion.isLost(after: "?2")
        // The modification stamp is a part of the stored merge base.
        let isOwn = "(creator = ?3 OR instr(COALESCE(ancestor, x''), CAST(?3 AS BLOB)) > 0)"
        let isKept = user == nil ? "?3 IS NULL AND \(SentAgain.isRelocated)" : isOwn
        var found = false
        try reader.query(
            "SELECT 1 FROM TARN_RECORD WHERE zone = ?1 AND \(isKept) AND \(isLost) LIMIT 1",
            [.int(zone), version.map { .text($0.changeTag) } ?? .null, user.map { .text($0) } ?? .null]
        ) { _ in found = true }
        return found
    }
}

extension SyncMetadataWriter {
    /// Marks records and links to be sent whose versions a restored server lacks, as ``markEverythingUnsent()`` does. Deletions of lost
    /// versions are not sent.
    ///
    /// Several devices may have different lost versions of a record, and none of them knows which one is the latest. Without a merge base the
    /// values of the device that sends last win, and it logs those that it replaces.
    func markUnsent(_ sent: SentAgain = .all, after version: RestoredVersion) throws {
        let isLost = RestoredVersion.isLost(after: "?2")
        // An uploaded record without a tag has an unknown version.
        let isUnsent = "zone = ?1 AND (\(isLost) OR tag IS NULL AND stage = \(MirrorStage.uploaded.rawValue))"
        let arguments: [SQLValue] = [.int(zone), .text(version.changeTag)]
        try writer.execute(
            "DELETE FROM TARN_RECORD WHERE zone = ?1 AND +isRelocated = 1 AND stage = \(MirrorStage.missing.rawValue) AND \(isLost)",
            arguments)
        let isDeletionLost = "zone = ?1 AND stage = \(MirrorStage.needsDelete.rawValue) AND \(isLost)"
        try writer.execute("DELETE FROM TARN_RECORD WHERE \(isDeletionLost) AND +isRelocated = 0", arguments)
        try writer.execute("DELETE FROM TARN_LINK WHERE \(isDeletionLost)", arguments)
        // Source records of relocated objects stay: the current record names them, and other devices may send them.
        try writer.execute("UPDATE TARN_RECORD SET tag = NULL WHERE \(isDeletionLost) AND +isRelocated = 1", arguments)
        let unsent = "tag = NULL, stage = \(MirrorStage.needsUpload.rawValue)"
        try writer.execute(
            "UPDATE TARN_RECORD SET \(unsent), ancestor = NULL, digests = NULL WHERE \(isUnsent) AND +isRelocated = 0 AND \(sent.condition)",
            arguments)
        try writer.execute("UPDATE TARN_LINK SET \(unsent) WHERE \(isUnsent)", arguments)
        try clearRejections()
    }

    /// Notes that other devices may have received a record that this device created and sent without a response.
    func noteCreationInDoubt(_ name: String) throws {
        try writer.execute(
            "UPDATE TARN_RECORD SET created = ? WHERE zone = ? AND name = ? AND tag IS NULL AND created IS NULL",
            [.int(RecordStamp.unknownTime), .int(zone), .text(name)])
    }
}
