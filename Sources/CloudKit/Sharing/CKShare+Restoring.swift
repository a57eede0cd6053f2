// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

// For callers that store shares themselves.

extension CKShare {
    /// Creates a share from the record that the server returned earlier.
    ///
    /// - Parameter linkBase: Prefix of the links to shares on the server.
    package static func restored(
        _ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope, linkBase: String
    ) -> CKShare {
        let share = CKShare(record, in: zoneID, scope: scope)
        share.stored.update { $0.linkBase = linkBase }
        return share
    }

    /// The share as the server last returned it. `nil` before it was saved.
    package var described: Record? { stored.value.server }
}
