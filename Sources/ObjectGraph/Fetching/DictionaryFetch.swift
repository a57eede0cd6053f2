// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

extension NSManagedObjectContext {
    /// Fetches stored values as dictionaries. Unsaved changes have no effect.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsfetchrequest/includespendingchanges
    func fetchDictionaries(_ parameters: FetchParameters) throws -> [NSDictionary] {
        processPendingChanges()
        let coordinator = requireCoordinator()
        let plan = try DictionaryPlan(parameters, FetchPlan(parameters, coordinator: coordinator), coordinator: coordinator)
        return try inPinnedState { try plan.fetch() }
    }
}

/// A request for dictionaries with resolved names.
struct DictionaryPlan {
    private struct Column {
        let name: String
        /// Where the value is in the dictionary: inner dictionaries are values of composites.
        let keys: [String]
        let expression: PredicateKit.Expression
        /// nil for an expression without a declared result type.
        let type: AttributeType?
        /// A transformable attribute, whose values are decoded.
        var transformable: Attribute?
    }

    private let plan: FetchPlan
    private let columns: [Column]
    private let query: DictionaryQuery
    private let coordinator: NSPersistentStoreCoordinator

    /// - Throws: `CocoaError` 134070 for a property that the entity lacks, or a to-many one.
    init(_ parameters: FetchParameters, _ plan: FetchPlan, coordinator: NSPersistentStoreCoordinator) throws {
        try plan.requireQuery()
        self.plan = plan
        self.coordinator = coordinator
        let layout = coordinator.layouts[plan.query.entity]
        let attributes = layout.entity.slots.compactMap { slot -> String? in
            guard case .attribute(let attribute) = slot, !attribute.isTransient else { return nil }
            return attribute.name.split(separator: ".").first.map(String.init)
        }.uniqued()
        let grouped = try parameters.groups.flatMap { try Self.columns($0, layout, coordinator) }
        columns =
            try parameters.properties?.flatMap { try Self.columns($0, layout, coordinator) }
            ?? (grouped.isEmpty ? attributes.flatMap { try Self.columns($0, layout, coordinator) } : grouped)
        var query = DictionaryQuery(plan.query, columns: columns.map { .init($0.name, $0.expression) })
        query.groups = grouped.map(\.expression)
        query.having = try parameters.having.map(FetchPlan.tree(of:))
        query.isDistinct = parameters.isDistinct
        if query.having != nil, query.groups.isEmpty {
            throw CocoaError(.persistentStoreOperation, sentence: "A fetch request with a having predicate needs properties to group by.")
        }
        if columns.isEmpty {
            throw CocoaError(.persistentStoreOperation, sentence: "A fetch of dictionaries needs properties to fetch.")
        }
        self.query = query
    }

    func count() throws -> Int {
        if plan.stores.count > 1 { return try fetchMerged().count }
        return try plan.stores.first.map { store in try store.translated { try store.requireSQLite().read { try $0.count(query) } } } ?? 0
    }

    func fetch() throws -> [NSDictionary] {
        if plan.stores.count > 1 { return try fetchMerged().map(dictionary) }
        guard let store = plan.stores.first else { return [] }
        return try values(query, in: store).map(dictionary)
    }

    private func values(_ query: DictionaryQuery, in store: NSPersistentStore) throws -> [[StoredValue]] {
        try store.translated { try store.requireSQLite().read { try $0.values(query) } }
    }

    /// Rows of several stores: sorted, made distinct and cut to the window in memory.
    private func fetchMerged() throws -> [[StoredValue]] {
        guard !query.isGrouped else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "Groups and totals are computed by one store; name it in the request's affectedStores, and add up the results.")
        }
        var each = query
        // Sort keys are fetched too, in columns after the requested ones.
        each.columns += query.rows.sort.map { .init("", .keyPath($0.keyPath)) }
        (each.rows.limit, each.rows.offset) = (query.rows.limit.map { $0 + query.rows.offset }, 0)
        var rows: [[StoredValue]] = []
        for store in plan.stores { rows += try values(each, in: store) }
        let keys = query.rows.sort.enumerated().map { ($0 + columns.count, $1) }
        let ordered = rows.enumerated().sorted { first, second in
            for (place, key) in keys {
                let order = key.order(Self.comparable(first.element[place]), Self.comparable(second.element[place]))
                if order != 0 { return (order < 0) == key.ascending }
            }
            return first.offset < second.offset
        }
        var result = ordered.map { Array($0.element.prefix(columns.count)) }
        if query.isDistinct { result = result.uniqued() }
        let start = min(query.rows.offset, result.count)
        let end = query.rows.limit.map { min(start + $0, result.count) } ?? result.count
        return Array(result[start..<end])
    }

    private static func comparable(_ value: StoredValue) -> PredicateValue { PredicateValue(foundation(value, nil)) }

    // MARK: Values

    /// Returns the dictionary of a row, without nil values.
    private func dictionary(_ values: [StoredValue]) -> NSDictionary {
        let result = NSMutableDictionary(capacity: columns.count)
        for (column, value) in zip(columns, values) {
            if case .reference(let key) = value {
                result[column.name] = coordinator.objectID(for: key)
            } else if let object = Self.object(value, column) {
                Self.put(object, at: column.keys[...], in: result)
            }
        }
        return result
    }

    private static func put(_ value: Any, at keys: ArraySlice<String>, in dictionary: NSMutableDictionary) {
        guard let key = keys.first else { return }
        let innerKeys = keys.dropFirst()
        dictionary[key] = innerKeys.isEmpty ? value : adding(value, at: innerKeys, to: dictionary[key])
    }

    /// Returns the value of a composite with one more of its leaves.
    private static func adding(_ value: Any, at keys: ArraySlice<String>, to composite: Any?) -> [String: Any] {
        var values = composite as? [String: Any] ?? [:]
        guard let key = keys.first else { return values }
        let innerKeys = keys.dropFirst()
        values[key] = innerKeys.isEmpty ? value : adding(value, at: innerKeys, to: values[key])
        return values
    }

    private static func object(_ value: StoredValue, _ column: Column) -> Any? {
        if let attribute = column.transformable { return AttributeCoding.value(value, of: attribute) }
        return foundation(value, column.type)
    }

    /// Converts numbers to `NSNumber`, which casts to every numeric type.
    private static func foundation(_ value: StoredValue, _ type: AttributeType?) -> Any? {
        switch (value, type) {
        case (.int(let value), .boolean): NSNumber(value: value != 0)
        case (.int(let value), .double), (.int(let value), .float): NSNumber(value: Double(value))
        case (.int(let value), .decimal): NSDecimalNumber(value: value)
        case (.int(let value), .date): Date(timeIntervalSinceReferenceDate: Double(value))
        case (.int(let value), _): NSNumber(value: value)
        case (.double(let value), .integer16), (.double(let value), .integer32), (.double(let value), .integer64):
            NSNumber(value: Int64(value.rounded(.towardZero).clamped))
        case (.double(let value), .decimal): NSDecimalNumber(string: String(format: "%.15g", value), locale: nil)
        case (.double(let value), .date): Date(timeIntervalSinceReferenceDate: value)
        case (.double(let value), _): NSNumber(value: value)
        case (.decimal(let value), _): NSDecimalNumber(decimal: value)
        default: AttributeCoding.value(value, of: type ?? .undefined)
        }
    }

    // MARK: Names

    /// - Returns: One column; of a composite, one for each of its leaves.
    private static func columns(_ property: Any, _ layout: EntityLayout, _ coordinator: NSPersistentStoreCoordinator) throws -> [Column] {
        if let description = property as? NSExpressionDescription {
            guard let expression = description.expression else {
                throw CocoaError(.persistentStoreOperation, sentence: "The expression description '\(description.name)' has no expression.")
            }
            let type = AttributeType(rawValue: Int(description.expressionResultType.rawValue))
            let name = description.name
            return [Column(name: name, keys: [name], expression: expression.tree, type: type == .undefined ? nil : type)]
        }
        guard let name = (property as? NSPropertyDescription)?.name ?? property as? String else {
            throw CocoaError(.persistentStoreOperation, sentence: "A \(Swift.type(of: property)) isn't a property to fetch or group by.")
        }
        let keys = name.split(separator: ".").map(String.init)
        return try leaves(at: keys[...], name, layout, coordinator).map { path, attribute in
            let names = [name] + path
            return Column(
                name: names.joined(separator: "."), keys: names, expression: .keyPath(keys + path), type: attribute?.type,
                transformable: attribute?.type == .transformable ? attribute : nil)
        }
    }

    /// - Returns: The leaf at the end of a path, or the leaves of a composite there with their paths in it.
    private static func leaves(
        at keys: ArraySlice<String>, _ path: String, _ layout: EntityLayout, _ coordinator: NSPersistentStoreCoordinator
    ) throws -> [(path: [String], attribute: Attribute?)] {
        guard let key = keys.first, key != "objectID", key != "self" else { return [([], nil)] }
        if let names = layout.entity.composites[key] {
            if keys.count > 1 {
                let inner = "\(key).\(keys[keys.startIndex + 1])"
                return try leaves(at: [inner] + keys.dropFirst(2), path, layout, coordinator)
            }
            return try names.flatMap { name in
                try leaves(at: ["\(key).\(name)"], path, layout, coordinator).map { ([name] + $0.path, $0.attribute) }
            }
        }
        guard case .slot(let slot)? = layout.entity.location(of: key) else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence:
                    "'\(path)' cannot be fetched into dictionaries: it is neither an attribute nor a to-one relationship of \(layout.name)."
            )
        }
        switch layout.entity.slots[slot] {
        case .attribute(let attribute): return [([], attribute)]
        case .toOne(let relationship):
            return try leaves(at: keys.dropFirst(), path, coordinator.layouts[relationship.destination], coordinator)
        }
    }
}

extension Double {
    /// Clamped to the range of `Int64`.
    fileprivate var clamped: Double { isNaN ? 0 : Swift.min(Swift.max(self, -0x1p63), 0x1p63.nextDown) }
}
