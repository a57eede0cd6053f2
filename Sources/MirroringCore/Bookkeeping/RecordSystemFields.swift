// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// System fields of a record that a device stores beside its change tag and modification stamp: who created it and when, and
/// where it stands in a shared hierarchy.
package struct RecordSystemFields: Hashable, Sendable {
    /// Record name of the user who created the record; nil until the server said it.
    package var creator: String?
    /// Milliseconds since 1970 UTC by the server's clock; nil until the server said it.
    package var created: Int64?
    /// Record name of the parent in the same zone.
    package var parent: String?
    /// Record name of the share in the same zone.
    package var share: String?

    package init(creator: String? = nil, created: Int64? = nil, parent: String? = nil, share: String? = nil) {
        self.creator = creator
        self.created = created
        self.parent = parent
        self.share = share
    }

    /// The fields after a response that holds the record. A response that names no creation leaves it as it was.
    package func updated(by record: Record) -> RecordSystemFields {
        RecordSystemFields(
            creator: record.created?.userRecordName ?? creator, created: record.created?.timestamp ?? created,
            parent: record.sharing.parent, share: record.sharing.share)
    }

    /// Puts the fields into a record as a response of the server has them.
    package func write(to record: inout Record) {
        if created != nil || creator != nil {
            record.created = RecordStamp(timestamp: created ?? RecordStamp.unknownTime, userRecordName: creator ?? "")
        }
        record.sharing.parent = parent
        record.sharing.share = share
    }
}
