// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// How far a database was read that has no change feed: type by type, each by the time of modification, page by page.
///
/// It is stored as one text, instead of a change token. Intervals overlap by ``overlapMilliseconds``, since a record may become visible a
/// little after one that was modified later; records that were read before are known by their versions.
///
/// Source: the talk *Sync a Core Data store with the CloudKit public database* (2020): one query for each record type,
/// that of links included.
package struct QueryPosition: Hashable, Sendable {
    package static let overlapMilliseconds: Int64 = 30_000
    private static let format = "query 1"

    /// Up to which time of modification a type was read, in milliseconds since 1970 by the server's clock.
    private var read: [String: Int64] = [:]
    /// The type that is being read, and how far its pass has come; nil between passes.
    private var passing: Passing?

    private struct Passing: Hashable, Sendable {
        var recordType: String
        var marker: String?
        var latest: Int64?
    }

    package init() {}

    /// - Parameter text: What ``text`` gave. Text of another kind begins again.
    package init(_ text: String?) {
        var lines = (text ?? "").split(separator: "\n", omittingEmptySubsequences: false)[...]
        guard lines.popFirst().map(String.init) == Self.format, let head = lines.popFirst() else { return }
        let parts = head.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        if parts.count == 3, !parts[0].isEmpty {
            passing = Passing(
                recordType: String(parts[0]), marker: parts[2].isEmpty ? nil : String(parts[2]),
                latest: Int64(parts[1]).map(UntrustedNumber.milliseconds))
        }
        for line in lines {
            let parts = line.split(separator: " ")
            if parts.count == 2, let time = Int64(parts[1]) { read[String(parts[0])] = UntrustedNumber.milliseconds(time) }
        }
    }

    /// Record types have no spaces in their names, and markers no line ends.
    package var text: String {
        let head = passing.map { "\($0.recordType) \($0.latest.map(String.init) ?? "") \($0.marker ?? "")" } ?? ""
        return ([Self.format, head] + read.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }).joined(separator: "\n")
    }

    /// What to ask for next.
    ///
    /// - Parameter types: In the order of a pass; not empty.
    package func request(of types: [String], limit: Int) -> QueryRecordsRequest {
        let type = passing.map(\.recordType).flatMap { types.contains($0) ? $0 : nil } ?? types[0]
        var query = Query(recordType: type, sorts: [QuerySort(.system(.modifiedTimestamp))])
        if let time = read[type] {
            query.filters = [QueryFilter(.system(.modifiedTimestamp), .greaterThanOrEquals, .timestamp(time - Self.overlapMilliseconds))]
        }
        return QueryRecordsRequest(
            query: query, resultsLimit: limit, continuationMarker: passing?.recordType == type ? passing?.marker : nil)
    }

    /// Adds a response.
    ///
    /// - Returns: Whether the pass goes on.
    package mutating func advance(_ type: String, records: [Record], marker: String?, types: [String]) -> Bool {
        let latest =
            (records.compactMap { $0.modified?.timestamp } + [passing?.recordType == type ? passing?.latest : nil].compactMap(\.self)).max()
        if let marker {
            passing = Passing(recordType: type, marker: marker, latest: latest)
            return true
        }
        if let latest { read[type] = max(read[type] ?? latest, latest) }
        guard let index = types.firstIndex(of: type), index + 1 < types.count else {
            passing = nil
            return false
        }
        passing = Passing(recordType: types[index + 1])
        return true
    }

    /// Restarts the present type: its marker is no longer valid.
    package mutating func dropMarker() { passing?.marker = nil }

    /// Whether a pass began that has not come to its end.
    package var isPassing: Bool { passing != nil }

    package var hasMarker: Bool { passing?.marker != nil }

    /// The page to request next, without the times of the records that were read; nil between passes.
    package var page: String? { passing.map { "\($0.recordType) \($0.marker ?? "")" } }
}

extension RecordMapping {
    /// Record types in the order in which a database without a change feed is read; links come last.
    package var recordTypes: [String] {
        Set(entities.values.map(\.recordType)).sorted() + (links.isEmpty ? [] : [MirrorNames.linkRecordType])
    }
}
