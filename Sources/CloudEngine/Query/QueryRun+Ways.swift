// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension QueryRun {
    /// Without an order: zone after zone along one index.
    func zoneByZone(_ driver: Driver, after start: QueryPosition?, count: Int) throws -> Page {
        var page = Page()
        for zone in zones where zone.key >= start?.zone ?? .min {
            let place = start.flatMap { $0.zone == zone.key ? IndexPlace(key: $0.keys[0], recordName: $0.recordName) : nil }
            for range in driver.ranges where place.map({ IndexKey.isLess($0.key, range.upper) }) ?? true {
                let place = place.flatMap { range.contains($0.key) ? $0 : nil }
                try view.scan(try scan(driver, zone, range, after: place)) { row in
                    let position = QueryPosition(keys: [row.key], zone: zone.key, recordName: row.record.record.recordName)
                    if try matches(row, zone, foundBy: driver) {
                        guard page.bytes < matchBytesMax else {
                            page.certainUpTo = page.matches.last?.position
                            return false
                        }
                        page.add(match(row.record.record, zone, at: position))
                    }
                    guard page.matches.count < count, !meter.isSpent else {
                        page.certainUpTo = position
                        return false
                    }
                    return true
                }
                if page.certainUpTo != nil { return page }
            }
        }
        return page
    }

    /// All records that a driver leads to, put in order.
    func collected(_ driver: Driver, after start: QueryPosition?, count: Int) throws -> Page {
        let order = order
        var best = BestMatches(order, after: start, count: count, bytesMax: matchBytesMax)
        for zone in zones {
            for range in driver.ranges {
                try view.scan(try scan(driver, zone, range)) { row in
                    let record = row.record.record
                    if try matches(row, zone, foundBy: driver) {
                        let position = position(of: record, zone)
                        best.take(at: position, match(record, zone, at: position))
                    }
                    return true
                }
            }
        }
        return best.page
    }

    /// By rising distance: circles about a centre, each twice as wide, until one has enough.
    func nearest(to centre: GlobePoint, in index: RecordIndex, after start: QueryPosition?, count: Int) throws -> Page {
        var radius = 10.0
        if let key = start?.keys[0] {
            while radius < GlobePoint.distanceMax, !IndexKey.isLess(key, IndexKey.ordered(radius)) { radius *= 2 }
        }
        while radius < GlobePoint.distanceMax {
            let limit = IndexKey.ordered(radius)
            var best = BestMatches(order, after: start, count: count, bytesMax: matchBytesMax)
            let driver = Driver(index: index, ranges: centre.cover(radius: radius))
            for zone in zones {
                for range in driver.ranges {
                    try view.scan(try scan(driver, zone, range)) { row in
                        let record = row.record.record
                        guard try matches(row, zone) else { return true }
                        let position = position(of: record, zone)
                        if !IndexKey.isLess(limit, position.keys[0]) {
                            best.take(at: position, match(record, zone, at: position))
                        }
                        return true
                    }
                }
            }
            if best.page.certainUpTo != nil { return best.page }
            radius *= 2
        }
        return try collected(Driver(index: index, ranges: [IndexKey.everything]), after: start, count: count)
    }

    /// By a field: along its index in each zone, then the zones' matches merged.
    func alongIndex(_ driver: Driver, ascending: Bool, after start: QueryPosition?, count: Int) throws -> Page {
        let order = order
        var page = Page()
        for zone in zones {
            let part =
                sorts.count == 1
                ? try streamed(driver, zone, ascending, after: start, count: count)
                : try grouped(driver, zone, ascending, after: start, count: count)
            page.add(part.matches)
            if zones.count > 1, page.bytes >= max(Self.zonesFactor * matchBytesMax, Limits.messageBytes / 2) { throw Self.tooManyZones }
            if let end = part.certainUpTo, page.certainUpTo.map({ order.isBefore(end, $0) }) ?? true { page.certainUpTo = end }
        }
        if zones.count > 1 { page.sort(order) }
        page.removeUncertain(order)
        return page
    }

    /// A page of several zones has matches of each of them, and so may take that many times the bytes of a page of one zone.
    private static let zonesFactor = 8
    private static let tooManyZones = WireError(
        .badRequest, "the query matches large records in too many zones: query one zone, or desire fewer keys", nativeCode: .limitExceeded)

    /// One sort: the index has the very order of the answer.
    private func streamed(
        _ driver: Driver, _ zone: StoredZone, _ ascending: Bool, after start: QueryPosition?, count: Int
    ) throws -> Page {
        var page = Page()
        var part = meter.part(of: zones.count)
        for range in ascending ? driver.ranges : driver.ranges.reversed() {
            guard let (range, place) = rest(of: range, zone, ascending, after: start, includesKey: false) else { continue }
            try view.scan(try scan(driver, zone, range, after: place, descending: !ascending)) { row in
                part.take(row)
                let position = QueryPosition(keys: [row.key], zone: zone.key, recordName: row.record.record.recordName)
                if try matches(row, zone) {
                    guard page.bytes < matchBytesMax else {
                        page.certainUpTo = page.matches.last?.position
                        return false
                    }
                    page.add(match(row.record.record, zone, at: position))
                }
                guard page.matches.count < count, !part.isSpent, !meter.hasSpentBytes else {
                    page.certainUpTo = position
                    return false
                }
                return true
            }
            if page.certainUpTo != nil { break }
        }
        return page
    }

    /// Several sorts: records with one key of the first are gathered and put in order.
    private func grouped(
        _ driver: Driver, _ zone: StoredZone, _ ascending: Bool, after start: QueryPosition?, count: Int
    ) throws -> Page {
        var page = Page()
        var isCut = false
        var group = BestMatches(order, after: start, count: count, bytesMax: matchBytesMax)
        var key: [UInt8]?
        var part = meter.part(of: zones.count)
        /// Whether enough is certain.
        func finishGroup() -> Bool {
            let (matches, isGroupCut) = group.trimmed
            page.add(matches)
            isCut = isGroupCut
            group = BestMatches(order, after: start, count: count, bytesMax: matchBytesMax)
            if page.matches.count >= count || isCut || page.bytes >= matchBytesMax {
                page.certainUpTo = page.matches.last?.position
            } else if part.isSpent || meter.hasSpentBytes, let key {
                page.certainUpTo = endOfGroup(key)
            }
            return page.certainUpTo != nil
        }
        // A page that ended behind a group goes on behind its key: to scan the group again could use up the next page, and so all.
        let isGroupDone = start.map { $0 == endOfGroup($0.keys[0]) } ?? false
        for range in ascending ? driver.ranges : driver.ranges.reversed() {
            guard let (range, _) = rest(of: range, zone, ascending, after: start, includesKey: !isGroupDone) else { continue }
            try view.scan(try scan(driver, zone, range, descending: !ascending)) { row in
                if key != row.key {
                    if finishGroup() { return false }
                    key = row.key
                }
                part.take(row)
                let record = row.record.record
                if try matches(row, zone) {
                    let position = position(of: record, zone)
                    group.take(at: position, match(record, zone, at: position))
                }
                return true
            }
            if page.certainUpTo != nil { return page }
        }
        _ = finishGroup()
        if page.matches.count < count, !isCut { page.certainUpTo = nil }
        return page
    }

    /// Behind all records with a key of the first sort, in every zone.
    private func endOfGroup(_ key: [UInt8]) -> QueryPosition {
        let others = sorts.dropFirst().map { $0.ascending ? [UInt8](repeating: 0xFF, count: 9) : [] }
        return QueryPosition(keys: [key] + others, zone: sorts[0].ascending ? .max : .min, recordName: "")
    }

    /// What of a range lies behind a position, in the direction of the scan; nil if nothing does.
    ///
    /// - Parameter includesKey: Whether entries with the position's key are included with any name.
    private func rest(
        of range: KeyRange, _ zone: StoredZone, _ ascending: Bool, after start: QueryPosition?, includesKey: Bool
    ) -> (KeyRange, IndexPlace?)? {
        guard let start else { return (range, nil) }
        let key = start.keys[0]
        var place: IndexPlace?
        // Zones before the position's have done with its key, zones behind it have not begun.
        var wantsKey = includesKey || (zone.key > start.zone) == ascending
        if !includesKey, zone.key == start.zone {
            place = range.contains(key) ? IndexPlace(key: key, recordName: start.recordName) : nil
            wantsKey = true
        }
        let behind =
            ascending
            ? KeyRange(lower: wantsKey ? key : key + [0], upper: range.upper)
            : KeyRange(lower: range.lower, upper: wantsKey ? key + [0] : key)
        let rest = range.intersection(behind)
        return rest.isEmpty ? nil : (rest, place)
    }
}

/// The first matches of an order behind a position, however many are taken.
///
/// Invariant: a match that was removed is behind `count` others, or behind others with `bytesMax` bytes, and so behind all that remain in
/// the end.
struct BestMatches {
    private let order: QueryOrder
    private let start: QueryPosition?
    private let count: Int
    private let bytesMax: Int
    private var matches: [QueryRun.Match] = []
    private var bytes = 0
    /// Whether matches were removed because of their bytes.
    private var isCut = false
    /// The position behind which no match is kept, once matches were removed.
    private var end: QueryPosition?

    init(_ order: QueryOrder, after start: QueryPosition?, count: Int, bytesMax: Int) {
        self.order = order
        self.start = start
        self.count = count
        self.bytesMax = bytesMax
    }

    /// - Parameter match: Made only for a position that is kept for now: it copies fields and computes their size.
    mutating func take(at position: QueryPosition, _ match: @autoclosure () -> QueryRun.Match) {
        if let start, !order.isBefore(start, position) { return }
        if let end, !order.isBefore(position, end) { return }
        let candidate = match()
        matches.append(candidate)
        bytes += candidate.bytes
        if matches.count >= 4 * count + 64 || bytes >= 4 * bytesMax && matches.count > 1 { trim() }
    }

    private mutating func trim() {
        matches.sort { order.isBefore($0.position, $1.position) }
        if matches.count > count { matches.removeLast(matches.count - count) }
        var kept = 0
        bytes = 0
        while kept < matches.count, bytes < bytesMax {
            bytes += matches[kept].bytes
            kept += 1
        }
        if kept < matches.count {
            matches.removeLast(matches.count - kept)
            isCut = true
        }
        if matches.count >= count || isCut { end = matches.last?.position }
    }

    /// The matches in their order, and whether others were removed because of their bytes.
    var trimmed: (matches: [QueryRun.Match], isCut: Bool) {
        var trimmed = self
        trimmed.trim()
        return (trimmed.matches, trimmed.isCut)
    }

    var page: QueryRun.Page {
        let (matches, isCut) = trimmed
        var page = QueryRun.Page()
        page.add(matches)
        if matches.count >= count || isCut { page.certainUpTo = matches.last?.position }
        return page
    }
}
