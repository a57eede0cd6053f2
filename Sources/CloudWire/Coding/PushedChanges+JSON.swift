// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension PushedChanges: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var (previousToken, previousDatabaseToken, databaseToken): (String?, String?, String?)
        var zone: ZoneChangesResult?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "previousSyncToken": previousToken = try reader.readString()
            case "zone": zone = try ZoneChangesResult(from: &reader)
            case "previousDatabaseToken": previousDatabaseToken = try reader.readString()
            case "databaseToken": databaseToken = try reader.readString()
            default: try reader.skipValue()
            }
        }
        guard case .changes(let page) = zone else { throw JSONFault("the pushed changes have no zone with records", at: start) }
        self.init(
            previousSyncToken: try previousToken.required("the pushed changes have no previousSyncToken", at: start), page: page,
            previousDatabaseToken: try previousDatabaseToken.required("the pushed changes have no previousDatabaseToken", at: start),
            databaseToken: try databaseToken.required("the pushed changes have no databaseToken", at: start))
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
