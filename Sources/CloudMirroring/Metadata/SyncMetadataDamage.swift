// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import SQLiteStore
import MirroringCore

/// Damage that only a broken sync engine would do to the sync metadata. The simulator plants it and has to find it.
package enum SyncMetadataDamage: Sendable {
    case forgetsPendingUploads
    case forgetsMergeBases
    case emptiesConflictLog
    case flattensPositions

    /// - Throws: `StoreError` for a store that was never synced.
    package func apply(_ writer: StoreWriter) throws {
        switch self {
        case .forgetsPendingUploads:
            try writer.execute(
                "UPDATE TARN_RECORD SET stage = \(MirrorStage.uploaded.rawValue) WHERE stage = \(MirrorStage.needsUpload.rawValue)")
        case .forgetsMergeBases: try writer.execute("UPDATE TARN_RECORD SET ancestor = NULL")
        case .emptiesConflictLog: try writer.execute("DELETE FROM TARN_CONFLICT")
        case .flattensPositions: try writer.execute("UPDATE TARN_RANK SET rank = 'V'")
        }
    }
}

/// The user of a store according to its sync metadata, for the simulator's checks.
package enum SyncMetadataUser: Sendable {
    /// Returns `true` if the server has confirmed a user.
    package static func isKnown(_ reader: StoreReader) throws -> Bool { try isSet(.user, reader) }

    /// Returns `true` if a credential was used that the server has not confirmed.
    package static func isUnconfirmed(_ reader: StoreReader) throws -> Bool { try isSet(.stranger, reader) }

    private static func isSet(_ key: StateTable.Key, _ reader: StoreReader) throws -> Bool {
        try reader.hasTable("TARN_STATE") && StateTable.text(key, reader) != nil
    }
}
