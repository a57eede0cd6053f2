// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Records of one type that a scan of a zone found.
package struct RecordScan: Sendable {
    /// Newest change first.
    package var records: [Record] = []
    /// The number of records that were examined, deleted ones included.
    package var examined = 0
    /// Where the next scan begins; nil at the end of the zone.
    package var next: Int64?
    /// When the last record of a scan that ended early was modified, in milliseconds since 1970 UTC.
    package var reached: Int64?
}

/// Finds records of a zone by their type, without an index.
package struct RecordScanner: Sendable {
    /// Bytes of stored records after which a scan ends: records of the largest size are read as well as counted.
    package static let bytesMax = 32_000_000

    let limits: Limits
    let sealer: Sealer

    /// Scans the records of a zone, newest change first, for those of a type.
    ///
    /// Records have no index by type, which each save would pay for. A scan reads the type at the beginning of each stored record, and
    /// decodes those of the type only. It is for the zones of a partition, not for those that others share with its user.
    ///
    /// - Parameters:
    ///   - number: ``RecordScan/next`` of the scan before; nil begins with the newest change.
    ///   - limit: Records of the type at most.
    ///   - most: Records at most that are examined. Deleted ones count, since a zone may have nothing else.
    ///   - bytesMax: Ends after the record that passes this size.
    package func scan(
        _ zoneID: ZoneID, forType recordType: String, before number: Int64?, limit: Int, examining most: Int,
        bytesMax: Int = RecordScanner.bytesMax, desiredKeys: [String]?, in view: any PartitionReader, _ call: Call
    ) throws -> RecordScan {
        let zone = try ZoneAccess(view, call).liveZone(zoneID)
        let slice = ChangeSlice(after: 0, before: number ?? .max, isNewestFirst: true)
        var rights = RecordAccess(view, call)
        var scan = RecordScan()
        var found: [(record: Record, change: Int64)] = []
        var (end, bytes): (Int64?, Int) = (nil, 0)
        try view.recordTexts(slice, in: zone.key, includingDeleted: true) { text, change in
            guard scan.examined < most, bytes < bytesMax else {
                scan.next = end
                return false
            }
            scan.examined += 1
            bytes += text.count
            end = change
            if scan.examined == most || bytes >= bytesMax { scan.reached = try Record(json: Array(text)).modified?.timestamp }
            guard try Self.isRecord(text, ofType: recordType) else { return true }
            let record = try Record(json: Array(text))
            if !record.isDeleted, try rights.allows(.read, record) { found.append((record, change)) }
            // One record more shows that there are more.
            return found.count <= limit
        }
        if found.count > limit { scan.next = found[limit - 1].change }
        let shares = try SharePresenter(view, zone, call, sealer)
        let addresses = AssetAddresses(sealer: sealer, call, secondsValid: limits.assetDownloadSeconds)
        let desiredKeys = desiredKeys.map { Set($0) }
        scan.records = try found.prefix(limit).map {
            try shares.complete($0.record).presented(zoneID: call.zoneID(of: zone), desiredKeys: desiredKeys, addresses)
        }
        return scan
    }

    /// Reads a stored record up to its type, which is one of the first members.
    private static func isRecord(_ text: UnsafeRawBufferPointer, ofType recordType: String) throws -> Bool {
        do {
            return try text.withMemoryRebound(to: UInt8.self) { (bytes) throws(JSONFault) -> Bool in
                var reader = JSONReader(bytes)
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    switch key {
                    case "recordType": return try reader.readString() == recordType
                    default: try reader.skipValue()
                    }
                }
                return false
            }
        } catch {
            throw StorageFailure(.corrupt, "a stored record could not be read")
        }
    }
}
