// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// An order with a valid field and index.
///
/// Records that lack the field come first in ascending order (unverified); ordered by distance, they are farther
/// than all others.
struct CheckedSort {
    let field: QueryField
    let ascending: Bool
    /// Order by the distance from here.
    let centre: GlobePoint?

    /// - Returns: Nil for an encrypted field, by which an order means nothing.
    ///
    /// - Parameter needsIndex: Whether the schema has to mark the field as sortable.
    init?(_ sort: QuerySort, in schema: RecordTypeSchema, needsIndex: Bool = true) throws(WireError) {
        field = try QueryField(sort.key, in: schema)
        ascending = sort.ascending
        guard !field.isEncrypted else { return nil }
        guard field.type == "LOCATION" else {
            centre = nil
            if needsIndex { try field.require(.sortable) }
            guard sort.relativeLocation == nil else {
                throw WireError(.badRequest, "relativeLocation does not fit field '\(field.name)' of type \(field.type)")
            }
            return
        }
        if needsIndex { try field.require(.sortable) }
        guard let location = sort.relativeLocation else {
            throw WireError(.badRequest, "an order by field '\(field.name)' needs a relativeLocation")
        }
        guard let point = GlobePoint(location) else {
            throw WireError(
                .badRequest, "the relativeLocation of the order by field '\(field.name)' has a \(GlobePoint.range)")
        }
        centre = point
    }

    /// Bytes that order records as an ascending sort does.
    func key(of record: Record) -> [UInt8] {
        let value = field.value(in: record)
        guard let centre else { return value.flatMap { IndexKey.key(of: $0) } ?? IndexKey.missing }
        guard case .location(let location) = value, let point = GlobePoint(location) else { return IndexKey.ordered(.infinity) }
        return IndexKey.ordered(centre.distance(to: point))
    }
}

/// A place in the answer to a query: the keys of the order, then zone and name.
struct QueryPosition: Hashable {
    var keys: [[UInt8]]
    var zone: Int64
    var recordName: String
}

/// The order of a query's answer. Records that are equal in it come by zone and name, in the direction of the first
/// sort.
struct QueryOrder {
    let ascending: [Bool]

    func isBefore(_ a: QueryPosition, _ b: QueryPosition) -> Bool {
        for (index, isUp) in ascending.enumerated() where a.keys[index] != b.keys[index] {
            return IndexKey.isLess(a.keys[index], b.keys[index]) == isUp
        }
        let isUp = ascending.first ?? true
        if a.zone != b.zone { return (a.zone < b.zone) == isUp }
        return a.recordName != b.recordName && a.recordName.utf8.lexicographicallyPrecedes(b.recordName.utf8) == isUp
    }
}
