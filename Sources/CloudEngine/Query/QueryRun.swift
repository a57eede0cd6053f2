// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// A query that was found right, on its way through the indexes of one partition.
///
/// | order | way |
/// |---|---|
/// | none | along the most selective filter's index, or the index of names; that is the order of the answer |
/// | a filter leaves few records | these, put in order |
/// | by a field | along that field's index |
/// | by rising distance | circles about the centre, each twice as wide |
/// | by falling distance | all records of the type |
///
/// Every record that an index leads to is compared with all filters, so an index only has to lead to enough. The meter bounds the work.
struct QueryRun {
    /// A filter that leaves at most so many records decides the way by itself.
    static let fewRecords = 1000
    /// Drivers with counted records; later ones are not considered.
    private static let driversCounted = 256

    struct Match {
        var position: QueryPosition
        /// With the desired fields.
        var record: Record
        var zone: StoredZone
        var bytes: Int
    }

    /// Matches in order, and the position up to which they are complete.
    struct Page {
        private(set) var matches: [Match] = []
        /// Bytes of the matches.
        private(set) var bytes = 0
        /// Nil: to the end.
        var certainUpTo: QueryPosition?

        mutating func add(_ match: Match) {
            matches.append(match)
            bytes += match.bytes
        }

        mutating func add(_ matches: [Match]) {
            for match in matches { add(match) }
        }

        /// Orders matches of several zones.
        mutating func sort(_ order: QueryOrder) { matches.sort { order.isBefore($0.position, $1.position) } }

        /// Removes the matches behind the position up to which all are known.
        mutating func removeUncertain(_ order: QueryOrder) {
            guard let end = certainUpTo else { return }
            matches.removeAll { order.isBefore(end, $0.position) }
            bytes = matches.reduce(0) { $0 + $1.bytes }
        }
    }

    let recordType: String
    let filters: [CheckedFilter]
    let sorts: [CheckedSort]
    let zones: [StoredZone]
    let indexes: [RecordIndex: Int64]
    let view: any PartitionReader
    let meter: QueryMeter
    /// Only records that this user created; nil means all.
    let creator: String?
    /// What says which share a record is in, by zone.
    let shares: [Int64: SharePresenter]
    /// Fields of the response; nil means all.
    let desiredKeys: Set<String>?
    /// Bytes of matches after which a page ends, as the response does. Records that are read on would only take memory.
    let matchBytesMax: Int

    var order: QueryOrder { QueryOrder(ascending: sorts.isEmpty ? [true] : sorts.map(\.ascending)) }

    /// Ways to narrow the records down, with their filters' numbers as they stand in a continuation marker.
    static func drivers(_ filters: [CheckedFilter], _ recordType: String) -> [Driver] {
        filters.flatMap { $0.drivers(ofType: recordType) }
    }

    /// Indexes that an answer may need.
    static func indexesNeeded(_ filters: [CheckedFilter], _ sorts: [CheckedSort], _ recordType: String) -> Set<RecordIndex> {
        var needed = Set(drivers(filters, recordType).map(\.index))
        if let first = sorts.first {
            needed.insert(RecordIndex(recordType: recordType, field: first.field.indexName, kind: .values))
        } else if needed.isEmpty {
            needed.insert(.names(of: recordType))
        }
        return needed
    }

    /// - Parameters:
    ///   - start: Where the page before ended.
    ///   - driver: Number of the driver that the page before went along, without an order.
    ///   - count: Matches wanted.
    /// - Returns: The page, and the driver to go on with.
    func page(after start: QueryPosition?, driver chosen: Int?, count: Int) throws -> (Page, driver: Int?) {
        let drivers = Self.drivers(filters, recordType)
        guard let first = sorts.first else {
            let number = try start == nil ? mostSelective(drivers)?.number : chosen
            let driver =
                number.flatMap { drivers.indices.contains($0) ? drivers[$0] : nil }
                ?? Driver(index: .names(of: recordType), ranges: [IndexKey.everything])
            return (try zoneByZone(driver, after: start, count: count), number)
        }
        if let best = try mostSelective(drivers), best.count <= Self.fewRecords {
            return (try collected(drivers[best.number], after: start, count: count), nil)
        }
        let index = RecordIndex(recordType: recordType, field: first.field.indexName, kind: .values)
        if let centre = first.centre {
            guard first.ascending else {
                return (try collected(Driver(index: index, ranges: [IndexKey.everything]), after: start, count: count), nil)
            }
            return (try nearest(to: centre, in: index, after: start, count: count), nil)
        }
        let ranges = filters.compactMap { $0.ranges(inIndexOf: first.field) }.min { $0.count < $1.count }
        let driver = Driver(index: index, ranges: ranges ?? [IndexKey.everything])
        return (try alongIndex(driver, ascending: first.ascending, after: start, count: count), nil)
    }

    /// The driver that leads to the fewest records, counted to a little more than few.
    private func mostSelective(_ drivers: [Driver]) throws -> (number: Int, count: Int)? {
        var best: (number: Int, count: Int)?
        for (number, driver) in drivers.prefix(Self.driversCounted).enumerated() {
            var count = 0
            let limit = min(best?.count ?? Int.max, Self.fewRecords + 1)
            for zone in zones {
                for range in driver.ranges where count < limit {
                    count += try view.count(try scan(driver, zone, range), atMost: limit - count)
                }
            }
            if count < best?.count ?? Int.max { best = (number, count) }
        }
        return best
    }

    func scan(_ driver: Driver, _ zone: StoredZone, _ range: KeyRange, after: IndexPlace? = nil, descending: Bool = false) throws
        -> IndexScan
    {
        // The schema changed between two pages.
        guard let index = indexes[driver.index] else { throw ContinuationMarker.refused }
        return IndexScan(index: index, zone: zone.key, range: range, after: after, descending: descending)
    }

    /// Whether a record stands in an index under several of the keys looked at, and this is not the first of them.
    private func isRepeated(_ row: IndexRow, _ driver: Driver) -> Bool {
        if driver.ranges.count == 1, driver.ranges[0].hasOneKey { return false }
        let keys = driver.index.keys(of: row.record.record)
        guard keys.count > 1 else { return false }
        return keys.first { key in driver.ranges.contains { $0.contains(key) } } != row.key
    }

    /// - Parameter driver: The driver that led to the row, if it can lead to a record twice.
    func matches(_ row: IndexRow, _ zone: StoredZone, foundBy driver: Driver? = nil) throws -> Bool {
        var record = row.record.record
        try meter.add(record: row.bytes)
        if let driver, isRepeated(row, driver) { return false }
        guard record.recordType == recordType, creator == nil || record.created?.userRecordName == creator else { return false }
        if looksAtShares, let presenter = shares[zone.key] { record = try presenter.complete(record) }
        let subject = FilterSubject(record, inZone: zone.name)
        let isMatch = filters.allSatisfy { $0.matches(subject) }
        try meter.add(bytes: subject.work)
        return isMatch
    }

    private var looksAtShares: Bool { filters.contains { $0.field.subject == .system(.share) } }

    func match(_ record: Record, _ zone: StoredZone, at position: QueryPosition) -> Match {
        var record = record
        if let desiredKeys { record.fields = record.fields.filter { desiredKeys.contains($0.key) } }
        return Match(position: position, record: record, zone: zone, bytes: RecordSize.bytes(of: record))
    }

    func position(of record: Record, _ zone: StoredZone) -> QueryPosition {
        QueryPosition(keys: sorts.map { $0.key(of: record) }, zone: zone.key, recordName: record.recordName)
    }
}
