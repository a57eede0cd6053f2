// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The query of a record list, from the items of its address.
///
/// | item | meaning |
/// |---|---|
/// | `place` | `DATABASE/ZONE`; or `scope` and `zone` |
/// | `type` | record type |
/// | `field`, `comparator`, `value` | a filter; others with `.1`, `.2` … behind the names |
/// | `sort`, `sort.1` | a field, descending with `-` in front |
/// | `columns`, `c.NAME` | whether columns were chosen, and those |
/// | `marker` | where the page begins |
/// | `back` | markers of earlier pages, with `~` between them; that of the first page is empty |
struct RecordQuery {
    static let filtersMax = 6
    static let defaultColumns = 6
    static let pagesBackMax = 8
    private static let systemFields: [(name: String, type: String)] = [
        ("recordName", "REFERENCE"), ("createdTimestamp", "TIMESTAMP"), ("createdUserRecordName", "REFERENCE"),
        ("modifiedTimestamp", "TIMESTAMP"),
        ("modifiedUserRecordName", "REFERENCE"),
    ]

    struct Filter {
        var field = ""
        var comparator = QueryFilter.Comparator.equals
        var value = ""
    }

    let scope: DatabaseScope
    /// As in addresses: `owner/zone` for a shared one.
    let zone: String
    let type: String?
    let fields: [String: FieldSchema]
    let filters: [Filter]
    let sorts: [String]
    let columns: [String]
    let marker: String?
    let back: [String]
    private let hasColumns: Bool

    init(_ items: QueryItems, place: (scope: DatabaseScope, zone: String), types: [String], _ schema: ContainerSchema) {
        (scope, zone) = place
        type = items["type"].flatMap { types.contains($0) ? $0 : nil } ?? types.first
        fields = type.flatMap { schema.types[$0]?.schema.fields } ?? [:]
        filters = (0..<Self.filtersMax).compactMap { index in
            let suffix = Self.suffix(index)
            guard let field = items["field" + suffix], !field.isEmpty else { return nil }
            return Filter(
                field: field, comparator: items["comparator" + suffix].flatMap(QueryFilter.Comparator.init(rawValue:)) ?? .equals,
                value: items["value" + suffix] ?? "")
        }
        sorts = (0..<2).compactMap { items["sort" + Self.suffix($0)] }.filter { !$0.isEmpty }
        hasColumns = items["columns"] != nil
        let names = fields.keys.sorted()
        columns = hasColumns ? names.filter { items["c.\($0)"] != nil } : Array(names.prefix(Self.defaultColumns))
        marker = items["marker"].flatMap { $0.isEmpty ? nil : $0 }
        let trail: [String] = items["back"]?.split(separator: "~", omittingEmptySubsequences: false).map(String.init) ?? []
        back = trail.suffix(Self.pagesBackMax)
    }

    /// The place that an address names; nil without one.
    static func place(_ items: QueryItems) -> (scope: DatabaseScope, zone: String)? {
        if let place = items["place"] {
            let parts = place.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, let scope = DatabaseScope(rawValue: String(parts[0])), !parts[1].isEmpty {
                return (scope, String(parts[1]))
            }
        }
        guard let scope = items["scope"].flatMap(DatabaseScope.init(rawValue:)) else { return nil }
        return (scope, items["zone"].flatMap { $0.isEmpty ? nil : $0 } ?? ZoneID.defaultZoneName)
    }

    static func suffix(_ index: Int) -> String { index == 0 ? "" : ".\(index)" }

    /// Whether the change feed has the list, without any index. The default zone of private databases has no feed.
    var isOfFeed: Bool {
        filters.isEmpty && sorts.isEmpty && !(scope == .private && zone == ZoneID.defaultZoneName)
    }

    /// Fields that a filter can have: no query compares bytes and files.
    var fieldNames: [String] {
        Self.systemFields.map(\.name) + fields.filter { Self.canBeQueried($0.value.type) && !$0.value.isEncrypted }.keys.sorted()
    }

    private static func canBeQueried(_ type: String) -> Bool { FieldIndexes.possible(forType: type).contains(.queryable) }

    private func typeOfField(_ name: String) -> String {
        Self.systemFields.first { $0.name == name }?.type ?? fields[name]?.type ?? "STRING"
    }

    private static func key(_ name: String) -> QueryKey { QueryKey.SystemField(rawValue: name).map(QueryKey.system) ?? .field(name) }

    /// - Throws: `WireError` with `.badRequest` for a value that does not fit its field.
    func query() throws(WireError) -> Query {
        var query = Query(recordType: type ?? "")
        for filter in filters {
            let (value, distance) = try value(of: filter)
            query.filters.append(QueryFilter(Self.key(filter.field), filter.comparator, value, distance: distance))
        }
        query.sorts = sorts.map { QuerySort(Self.key(String($0.drop { $0 == "-" })), ascending: !$0.hasPrefix("-")) }
        return query
    }

    private func value(of filter: Filter) throws(WireError) -> (FieldValue, distance: Double?) {
        let type = typeOfField(filter.field)
        guard Self.canBeQueried(type) else {
            throw WireError(.badRequest, "'\(filter.field)' has the type \(type), which cannot be queried. Choose another field.")
        }
        let element = type.hasSuffix("_LIST") ? String(type.dropLast(5)) : type
        func one(_ text: String) throws(WireError) -> FieldValue {
            guard let value = FieldText.value(text, type: element) else {
                throw FieldText.problem(filter.value, type: element, field: filter.field)
            }
            return value
        }
        switch filter.comparator {
        case .near:
            let numbers = filter.value.split { $0 == "," || $0 == " " }.compactMap { Double(String($0)) }
            guard numbers.count == 3 else {
                throw WireError(.badRequest, "NEAR needs latitude, longitude and a distance in metres, such as 48.137, 11.575, 1000.")
            }
            return (try one("\(numbers[0]), \(numbers[1])"), numbers[2])
        case .isIn, .isNotIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll:
            var values: [FieldValue] = []
            for text in RecordCSV.typedCells(filter.value) { values.append(try one(text.trimmed)) }
            return (FieldText.list(values, of: element), nil)
        default: return (try one(filter.value), nil)
        }
    }

    /// The address's items without the page.
    var items: [(String, String)] {
        var items = [("place", "\(scope.rawValue)/\(zone)")]
        if let type { items.append(("type", type)) }
        for (index, filter) in filters.enumerated() {
            let suffix = Self.suffix(index)
            items += [
                ("field" + suffix, filter.field), ("comparator" + suffix, filter.comparator.rawValue), ("value" + suffix, filter.value),
            ]
        }
        for (index, sort) in sorts.enumerated() { items.append(("sort" + Self.suffix(index), sort)) }
        if hasColumns { items += [("columns", "1")] + columns.map { ("c.\($0)", "1") } }
        return items
    }

    static func text(_ items: [(String, String)]) -> String {
        items.map { "\($0)=\(QueryItems.encode($1))" }.joined(separator: "&")
    }

    /// Items of this page.
    var pageItems: [(String, String)] {
        guard let marker else { return items }
        return page(from: marker, back)
    }

    private func page(from marker: String, _ back: [String]) -> [(String, String)] {
        let trail: [(String, String)] = back.isEmpty ? [] : [("back", back.joined(separator: "~"))]
        return items + [("marker", marker)] + trail
    }

    /// Items of the page after this one.
    func next(_ next: String) -> [(String, String)] {
        page(from: next, (back + [marker ?? ""]).suffix(Self.pagesBackMax))
    }

    /// Items of the page before this one; nil on the first page, and where the trail of markers has ended.
    var previous: [(String, String)]? {
        guard marker != nil, let last = back.last else { return nil }
        return last.isEmpty ? items : page(from: last, back.dropLast())
    }

    /// Items of the first page, where the trail of markers has ended.
    var first: [(String, String)]? { marker != nil && back.isEmpty ? items : nil }

    var zoneID: ZoneID { RecordPages.zoneID(zone) }
}

extension String {
    /// The text without spaces at its ends.
    var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
