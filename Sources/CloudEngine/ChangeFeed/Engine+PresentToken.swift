// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension Engine {
    /// The present end of a zone's change feed, for a caller that follows it without reading its history.
    ///
    /// - Throws: `WireError` with `.zoneNotFound`.
    package func presentToken(of zoneID: ZoneID, in view: any PartitionReader, _ call: Call) throws -> String {
        let zone = try liveZone(zoneID, in: view, call)
        var rights = RecordAccess(view, call)
        let feed = try call.partition.scope == .public ? rights.feed(call.partition) : call.feed(of: zone, in: view)
        return try token(of: zone, in: view, feed)
    }
}
