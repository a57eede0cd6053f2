// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension ContainerSchema {
    /// Bytes of a text that is read at most.
    package static let textBytesMax = 4_000_000

    /// Reads a text in the schema language (`.ckdb`).
    ///
    /// A type without grants stays without them: only the operator can use it in the public database.
    ///
    /// - Throws: `SchemaFault` with line and column of the first thing that is wrong.
    package init(text: String) throws(SchemaFault) { self = try Self.read(text).schema }

    /// As ``init(text:)``, with the skipped parts of the text.
    package static func read(_ text: String) throws(SchemaFault) -> (schema: ContainerSchema, warnings: [SchemaFault]) {
        guard text.utf8.count <= textBytesMax else {
            throw SchemaFault(line: 1, column: 1, what: "a schema has at most \(textBytesMax) bytes")
        }
        var parser = try SchemaParser(text)
        let schema = try parser.parse()
        return (schema, parser.warnings)
    }

    /// The schema in the schema language: roles, types, fields and grants by name, system fields first and all of them.
    package var text: String {
        var text = "DEFINE SCHEMA\n"
        for role in roles.sorted() { text += "\n    CREATE ROLE \(Self.name(role));\n" }
        for (name, type) in types.sorted(by: { $0.key < $1.key }) { text += Self.text(of: type, name) }
        return text
    }

    private static func text(of type: RecordType, _ name: String) -> String {
        var rows: [(name: String, rest: String)] = SchemaWords.systemFields.map { system in
            let indexes = system.field.flatMap { type.schema.systemIndexes[$0] } ?? []
            return (Self.name(system.name), words(system.type, indexes))
        }
        for (name, field) in type.schema.fields.sorted(by: { $0.key < $1.key }) {
            rows.append((Self.name(name), words(SchemaWords.text(of: field), field.indexes)))
        }
        let width = rows.map(\.name.count).max() ?? 0
        var items = rows.map { row in
            row.name + String(repeating: " ", count: width + 1 - row.name.count) + row.rest
        }
        // The roles that are always there, then the app's own.
        let roles = type.grants.byRole.keys.sorted { a, b in
            let (first, second) = (SecurityGrants.builtInRoles.contains(a), SecurityGrants.builtInRoles.contains(b))
            return first != second ? first : a < b
        }
        for role in roles {
            guard let permissions = type.grants.byRole[role], !permissions.isEmpty else { continue }
            items.append("GRANT \(SchemaWords.text(of: permissions)) TO \(Self.name(role))")
        }
        return "\n    RECORD TYPE \(Self.name(name)) (\n"
            + items.map { "        " + $0 }.joined(separator: ",\n") + "\n    );\n"
    }

    private static func words(_ type: String, _ indexes: FieldIndexes) -> String {
        indexes.isEmpty ? type : "\(type) \(SchemaWords.text(of: indexes))"
    }

    private static func name(_ name: String) -> String {
        let isPlain =
            name.unicodeScalars.first.map(SchemaLexer.isLetter) ?? false && !SchemaWords.reserved.contains(name.uppercased())
            && name.unicodeScalars.allSatisfy { SchemaLexer.isLetter($0) || ("0"..."9").contains($0) || $0 == "_" }
        return isPlain ? name : "\"\(name)\""
    }
}
