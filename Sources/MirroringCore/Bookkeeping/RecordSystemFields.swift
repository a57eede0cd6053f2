// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// System fields of a record that a device stores in addition to its change tag and modification stamp: creator, creation date, and
/// position in a shared hierarchy.
package struct RecordSystemFields: Hashable, Sendable {
    /// Record name of the creator; nil until a response has it.
    package var creator: String?
    /// Milliseconds since 1970 UTC by the server's clock; nil until a response has it.
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

    /// Returns the fields after a response with the record. A response without a creation date does not change it.
    package func updated(by record: Record) -> RecordSystemFields {
        RecordSystemFields(
            creator: record.created?.userRecordName ?? creator, created: record.created?.timestamp ?? created,
            parent: record.sharing.parent, share: record.sharing.share)
    }

    /// Writes the fields to a record in the form of a response.
    package func write(to record: inout Record) {
        if created != nil || creator != nil {
            record.created = RecordStamp(timestamp: created ?? RecordStamp.unknownTime, userRecordName: creator ?? "")
        }
        record.sharing.parent = parent
        record.sharing.share = share
    }
}
