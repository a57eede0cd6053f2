// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension TableModel {
    mutating func addAttributes() throws {
        for root in outline.roots where entities[root.number] != nil {
            guard let table = outline.table(of: root.number), let columns = outline.tables[table] else { continue }
            for column in columns where !ReadShape.fixedColumns.contains(column.name.uppercased()) {
                if consumed[table]?.contains(column.name.uppercased()) == true { continue }
                guard let type = try type(of: column, in: table) else {
                    notes.append("\(table).\(column.name) is left out: no attribute has the type '\(column.type)'")
                    continue
                }
                let owner = try owner(of: column.name, root: root.number, table: table)
                guard let name = claim(column.name.uppercased(), of: root.number) else {
                    notes.append("\(table).\(column.name) is left out: its name isn't valid for a property")
                    continue
                }
                entities[owner]?.attributes.append(Attribute(name: name, type: type))
            }
        }
    }

    private func type(of column: StoreOutline.Column, in table: String) throws -> AttributeType? {
        switch column.type.uppercased() {
        case "INTEGER": return .integer64
        case "FLOAT": return .double
        case "DECIMAL": return .decimal
        case "TIMESTAMP": return .date
        case "VARCHAR": return .string
        case "BLOB": return try holdsIdentifiers(identifier(column.name), identifier(table)) ? .uuid : .binaryData
        default: return nil
        }
    }

    /// Whether all values of a column have the length, the version and the variant of a UUID.
    ///
    /// Source: RFC 9562, sections 4.1 and 4.2.
    private func holdsIdentifiers(_ column: String, _ table: String) throws -> Bool {
        let (all, fitting) =
            try connection.first(
                """
                SELECT COUNT(*), TOTAL(typeof(v) = 'blob' AND length(v) = 16 AND hex(substr(v, 7, 1)) BETWEEN '10' AND '8F' \
                AND hex(substr(v, 9, 1)) BETWEEN '80' AND 'BF') FROM (SELECT \(column) v FROM \(table) WHERE \(column) IS NOT NULL)
                """
            ) { ($0.int(0), $0.int(1)) } ?? (0, 0)
        return all > 0 && all == fitting
    }

    /// The nearest common ancestor of all entities with a value in the column.
    func owner(of column: String, root: Int64, table: String) throws -> Int64 {
        if outline.numbers(inTableOf: root).count == 1 { return root }
        var common: [Int64]?
        try connection.query(
            "SELECT DISTINCT Z_ENT FROM \(identifier(table)) WHERE \(identifier(column)) IS NOT NULL LIMIT \(StoreOutline.entitiesMax)"
        ) { row in
            let chain = ancestors(row.int(0), root: root)
            common = common.map { zip($0, chain).prefix { $0 == $1 }.map(\.0) } ?? chain
        }
        return common?.last { entities[$0] != nil } ?? root
    }

    /// From the root down to the entity itself.
    func ancestors(_ number: Int64, root: Int64) -> [Int64] {
        guard outline.root(of: number) == root else { return [root] }
        var chain = [number]
        while let parent = outline.entities[chain[0]]?.parent, chain[0] != root { chain.insert(parent, at: 0) }
        return chain
    }

    mutating func addIndexes() throws {
        var candidates: [(name: String, table: String, isUnique: Bool)] = []
        try connection.query(
            "SELECT name, tbl_name, sql LIKE 'CREATE UNIQUE%' FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
        ) { row in candidates.append((row.text(0) ?? "", row.text(1) ?? "", row.int(2) == 1)) }
        for index in candidates where index.name.hasPrefix("Z_") {
            // The longest matching name: entity names may contain underscores.
            let owner = entities.filter { index.name.hasPrefix("Z_\($0.value.name)_") && outline.table(of: $0.key) == index.table }
                .max { $0.value.name.utf8.count < $1.value.name.utf8.count }
            guard let owner else { continue }
            var elements: [FetchIndex.Element] = []
            var isComplete = true
            try connection.query("SELECT name, \"desc\" FROM pragma_index_xinfo(?) WHERE key = 1", [.text(index.name)]) { row in
                let name = row.text(0).flatMap { self.property(of: $0, owner.key) }
                isComplete = isComplete && name != nil
                elements.append(FetchIndex.Element(property: name ?? "", isAscending: row.int(1) == 0))
            }
            let name = String(index.name.dropFirst("Z_\(owner.value.name)_".count))
            guard isComplete, !elements.isEmpty, Self.isName(name) else { continue }
            if index.isUnique {
                entities[owner.key]?.uniquenessConstraints.append(elements.map(\.property))
            } else {
                entities[owner.key]?.indexes.append(FetchIndex(name: name, elements: elements))
            }
        }
    }

    /// A property of the entity or of its ancestors.
    private func property(of column: String, _ number: Int64) -> String? {
        for ancestor in ancestors(number, root: outline.root(of: number)) {
            guard let entity = entities[ancestor] else { continue }
            let names = entity.attributes.map(\.name) + entity.relationships.filter { !$0.isToMany }.map(\.name)
            if let name = names.first(where: { "Z" + $0.uppercased() == column.uppercased() }) { return name }
        }
        return nil
    }
}
