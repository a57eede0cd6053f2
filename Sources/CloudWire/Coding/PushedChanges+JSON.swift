// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension PushedChanges: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var (before, databaseBefore, database): (String?, String?, String?)
        var zone: ZoneChangesResult?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "previousSyncToken": before = try reader.readString()
            case "zone": zone = try ZoneChangesResult(from: &reader)
            case "previousDatabaseToken": databaseBefore = try reader.readString()
            case "databaseToken": database = try reader.readString()
            default: try reader.skipValue()
            }
        }
        guard case .changes(let page) = zone else { throw JSONFault("the pushed changes have no zone with records", at: start) }
        self.init(
            previousSyncToken: try before.required("the pushed changes have no previousSyncToken", at: start), page: page,
            previousDatabaseToken: try databaseBefore.required("the pushed changes have no previousDatabaseToken", at: start),
            databaseToken: try database.required("the pushed changes have no databaseToken", at: start))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("previousSyncToken", previousSyncToken)
            writer.member("previousDatabaseToken", previousDatabaseToken)
            writer.member("databaseToken", databaseToken)
            writer.member("zone", ZoneChangesResult.changes(page))
        }
    }
}
