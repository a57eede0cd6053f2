// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

// Sync metadata after the server was restored from a backup.

extension SyncMetadataWriter {
    /// Marks records and links to be sent whose versions a restored server lacks, as ``markEverythingUnsent()`` does. Deletions of lost
    /// versions are not sent.
    ///
    /// Several devices may have different lost versions of a record, and none of them knows which one is the latest. Without a merge base the
    /// values of the device that sends last win, and it logs those that it replaces.
    func markUnsent(after version: RestoredVersion) throws {
        // Numbers in base 36, whose digits are in the order of their characters.
        let isLost = "(LENGTH(tag) > LENGTH(?2) OR LENGTH(tag) = LENGTH(?2) AND tag > ?2)"
        // An uploaded record without a tag has an unknown version.
        let isUnsent = "zone = ?1 AND (\(isLost) OR tag IS NULL AND stage = \(MirrorStage.uploaded.rawValue))"
        let arguments: [SQLValue] = [.int(zone), .text(version.changeTag)]
        try writer.execute(
            "DELETE FROM TARN_RECORD WHERE zone = ?1 AND +isRelocated = 1 AND stage = \(MirrorStage.missing.rawValue) AND \(isLost)",
            arguments)
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute(
                "DELETE FROM \(table) WHERE zone = ?1 AND stage = \(MirrorStage.needsDelete.rawValue) AND \(isLost)", arguments)
        }
        try writer.execute("UPDATE TARN_RECORD SET ancestor = NULL, digests = NULL WHERE \(isUnsent)", arguments)
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute(
                "UPDATE \(table) SET tag = NULL, stage = \(MirrorStage.needsUpload.rawValue) WHERE \(isUnsent)", arguments)
        }
        try clearRejections()
    }

    /// Notes that other devices may have received a record that this device created and sent without a response.
    func noteCreationInDoubt(_ name: String) throws {
        try writer.execute(
            "UPDATE TARN_RECORD SET created = ? WHERE zone = ? AND name = ? AND tag IS NULL AND created IS NULL",
            [.int(RecordStamp.unknownTime), .int(zone), .text(name)])
    }
}
