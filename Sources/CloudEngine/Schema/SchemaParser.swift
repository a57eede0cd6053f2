// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Reads the schema language. Keywords may be in upper or lower case; comments are passed over.
///
/// Source: Apple, *Integrating a Text-Based Schema into Your Workflow*.
struct SchemaParser {
    private typealias Token = SchemaLexer.Token

    private var lexer: SchemaLexer
    private var token: SchemaLexer.Token
    private var schema = ContainerSchema()
    /// Roles that grants name, to be looked up at the end.
    private var granted: [SchemaLexer.Token] = []

    init(_ text: String) throws(SchemaFault) {
        lexer = SchemaLexer(text)
        token = try lexer.next()
    }

    mutating func parse() throws(SchemaFault) -> ContainerSchema {
        try expect("DEFINE")
        try expect("SCHEMA")
        while token.kind != .end {
            switch token.keyword {
            case "CREATE": try parseRole()
            case "RECORD": try parseRecordType()
            default: throw unexpected("CREATE ROLE or RECORD TYPE")
            }
            try expect(sign: ";")
        }
        for role in granted where !SecurityGrants.builtInRoles.contains(role.text) && !schema.roles.contains(role.text) {
            throw role.fault("there is no role \(role.shown): make it by CREATE ROLE")
        }
        return schema
    }

    private mutating func parseRole() throws(SchemaFault) {
        try expect("CREATE")
        try expect("ROLE")
        let name = try name("a role")
        guard NameChecks.recordType(name.text) == nil else {
            throw name.fault("a role begins with a letter, followed by letters, digits and underscores")
        }
        guard schema.roles.insert(name.text).inserted else { throw name.fault("the role \(name.shown) is made twice") }
    }

    private mutating func parseRecordType() throws(SchemaFault) {
        try expect("RECORD")
        try expect("TYPE")
        let name = try name("a record type")
        if let error = NameChecks.recordType(name.text) { throw name.fault(error.reason) }
        guard schema.types[name.text] == nil else { throw name.fault("the record type \(name.shown) stands twice") }
        var type = ContainerSchema.RecordType()
        var systemFields: Set<String> = []
        try expect(sign: "(")
        if token.text != ")" || token.kind != .sign {
            while true {
                if token.keyword == "GRANT" {
                    try parseGrant(&type.grants)
                } else {
                    try parseField(&type.schema, &systemFields)
                }
                guard token.kind == .sign, token.text == "," else { break }
                try advance()
            }
        }
        guard token.kind == .sign, token.text == ")" else { throw unexpected("',' or ')'") }
        try advance()
        schema.types[name.text] = type
    }

    private mutating func parseField(_ type: inout RecordTypeSchema, _ systemFields: inout Set<String>) throws(SchemaFault) {
        if let word = token.keyword, SchemaWords.reserved.contains(word) {
            throw token.fault("found \(token.shown): put it in quotes to use it as a field's name")
        }
        let name = try name("a field or GRANT")
        let typeToken = token
        var field = try parseType()
        while let word = token.keyword, let index = SchemaWords.indexes.first(where: { $0.word == word })?.index {
            guard field.indexes.isDisjoint(with: index) else { throw token.fault("\(word) stands twice") }
            guard FieldIndexes.possible(forType: field.type).contains(index), !field.isEncrypted else {
                throw token.fault("a field of type \(SchemaWords.text(of: field)) cannot be \(word)")
            }
            field.indexes.insert(index)
            try advance()
        }
        if name.text.hasPrefix("_") {
            guard let system = SchemaWords.systemFields.first(where: { $0.name == name.text }) else {
                throw name.fault("there is no system field \(name.shown)")
            }
            guard field.type == system.type, !field.isEncrypted else {
                throw typeToken.fault("the system field \(name.shown) is of type \(system.type)")
            }
            guard systemFields.insert(name.text).inserted else { throw name.fault("the field \(name.shown) stands twice") }
            if let key = system.field, !field.indexes.isEmpty { type.systemIndexes[key] = field.indexes }
            guard system.field != nil || field.indexes.isEmpty else {
                throw name.fault("the system field \(name.shown) cannot have indexes")
            }
            return
        }
        if let error = NameChecks.field(name.text) { throw name.fault(error.reason) }
        guard type.fields[name.text] == nil else { throw name.fault("the field \(name.shown) stands twice") }
        type.fields[name.text] = field
    }

    private mutating func parseType() throws(SchemaFault) -> FieldSchema {
        guard token.keyword == "LIST" else { return try parsePrimitive() }
        try advance()
        try expect(sign: "<")
        var field = try parsePrimitive()
        try expect(sign: ">")
        field.type += "_LIST"
        return field
    }

    private mutating func parsePrimitive() throws(SchemaFault) -> FieldSchema {
        var isEncrypted = false
        if token.keyword == "ENCRYPTED" {
            isEncrypted = true
            try advance()
        }
        let words = SchemaWords.types.filter { !isEncrypted || SchemaWords.encryptable.contains($0.type) }
        guard let word = token.keyword, var type = words.first(where: { $0.word == word })?.type else {
            throw unexpected(words.map(\.word).joined(separator: ", ") + (isEncrypted ? "" : ", ENCRYPTED, LIST"))
        }
        try advance()
        if type == "NUMBER", token.keyword == "PREFERRED" {
            try advance()
            try expect("AS")
            guard let kind = token.keyword, kind == "INT64" || kind == "DOUBLE" else { throw unexpected("INT64 or DOUBLE") }
            type = "NUMBER_\(kind)"
            try advance()
        }
        return FieldSchema(type: type, isEncrypted: isEncrypted, indexes: [])
    }

    private mutating func parseGrant(_ grants: inout SecurityGrants) throws(SchemaFault) {
        try expect("GRANT")
        var permissions: RolePermissions = []
        while true {
            guard let word = token.keyword,
                let permission = SchemaWords.permissions.first(where: { $0.word == word })?.permission
            else { throw unexpected("READ, CREATE or WRITE") }
            permissions.insert(permission)
            try advance()
            guard token.kind == .sign, token.text == "," else { break }
            try advance()
        }
        try expect("TO")
        let role = try name("a role")
        granted.append(role)
        guard role.text != SecurityGrants.world || permissions == .read else {
            throw role.fault("the role \"_world\" can only be granted READ")
        }
        grants.byRole[role.text, default: []].formUnion(permissions)
    }

    // MARK: Tokens

    private mutating func advance() throws(SchemaFault) { token = try lexer.next() }

    private func unexpected(_ expected: String) -> SchemaFault { token.fault("found \(token.shown), expected \(expected)") }

    private mutating func expect(_ keyword: String) throws(SchemaFault) {
        guard token.keyword == keyword else { throw unexpected(keyword) }
        try advance()
    }

    private mutating func expect(sign: String) throws(SchemaFault) {
        guard token.kind == .sign, token.text == sign else { throw unexpected("'\(sign)'") }
        try advance()
    }

    private mutating func name(_ what: String) throws(SchemaFault) -> SchemaLexer.Token {
        let name = token
        switch name.kind {
        case .quoted: break
        case .word where !name.text.hasPrefix("_"): break
        case .word: throw name.fault("found \(name.shown): names that begin with an underscore stand in quotes")
        case .sign, .end: throw unexpected(what)
        }
        try advance()
        return name
    }
}
