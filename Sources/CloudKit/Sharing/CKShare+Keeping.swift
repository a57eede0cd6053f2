// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

// For those who keep shares in a file of their own.

extension CKShare {
    /// A share as the server described it earlier.
    ///
    /// - Parameter linkBase: How links to shares begin, where the server is.
    package static func kept(
        _ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope, linkBase: String
    ) -> CKShare {
        let share = CKShare(record, in: zoneID, scope: scope)
        share.stored.update { $0.linkBase = linkBase }
        return share
    }

    /// The share as the server described it last; nil before it was saved.
    package var described: Record? { stored.value.server }
}
