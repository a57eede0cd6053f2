// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Parses the schema language. Keywords may be in upper or lower case; comments are skipped.
///
/// A text that the console of the live service exported is always accepted. Parts without a meaning here are skipped with a warning:
/// an index that a type cannot have, system types and fields that the server does not know, grants that no caller could use.
/// Any other error is rejected: misspelled words, duplicate names, encrypted references.
///
/// Source: Apple, *Integrating a Text-Based Schema into Your Workflow*; public repositories with exported schemas.
struct SchemaParser {
    private typealias Token = SchemaLexer.Token

    private var lexer: SchemaLexer
    private var token: SchemaLexer.Token
    private var schema = ContainerSchema()
    /// Roles that grants name, to be looked up at the end.
    private var granted: [SchemaLexer.Token] = []
    /// Skipped parts, in the order of the text.
    private(set) var warnings: [SchemaFault] = []

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
            throw role.fault("the role \(role.shown) does not exist: create it with CREATE ROLE")
        }
        warnings.sort { ($0.line, $0.column) < ($1.line, $1.column) }
        return schema
    }

    private mutating func parseRole() throws(SchemaFault) {
        try expect("CREATE")
        try expect("ROLE")
        let name = try name("a role")
        guard NameChecks.role(name.text) else {
            throw name.fault("a role has 1 to 255 characters, and no underscore at the beginning")
        }
        guard schema.roles.insert(name.text).inserted else { throw name.fault("the role \(name.shown) is made twice") }
    }

    private mutating func parseRecordType() throws(SchemaFault) {
        try expect("RECORD")
        try expect("TYPE")
        let name = try name("a record type")
        let isSystemType = NameChecks.recordType(name.text) != nil && NameChecks.isSystemName(name.text)
        if !isSystemType, let error = NameChecks.recordType(name.text) { throw name.fault(error.reason) }
        guard schema.types[name.text] == nil else { throw name.fault("the record type \(name.shown) stands twice") }
        var type = ContainerSchema.RecordType()
        var systemFields: Set<String> = []
        try expect(sign: "(")
        if token.text != ")" || token.kind != .sign {
            while true {
                if token.keyword == "GRANT" {
                    try parseGrant(&type.grants)
                } else {
                    try parseField(&type.schema, &systemFields, isShare: name.text == ShareDetails.recordType)
                }
                guard token.kind == .sign, token.text == "," else { break }
                try advance()
            }
        }
        guard token.kind == .sign, token.text == ")" else { throw unexpected("',' or ')'") }
        try advance()
        if isSystemType { return warn(name, "the system type \(name.shown) is left out: the server does not have it") }
        schema.types[name.text] = type
    }

    private mutating func warn(_ token: SchemaLexer.Token, _ what: String) { warnings.append(token.fault(what)) }

    /// - Parameter isShare: Whether the type is the type of shares: its own fields begin with `cloudkit.`.
    private mutating func parseField(
        _ type: inout RecordTypeSchema, _ systemFields: inout Set<String>, isShare: Bool
    ) throws(SchemaFault) {
        if let word = token.keyword, SchemaWords.reserved.contains(word) {
            throw token.fault("found \(token.shown): put it in quotes to use it as a field's name")
        }
        let name = try name("a field or GRANT")
        let typeToken = token
        var field = try parseType()
        while let word = token.keyword, let index = SchemaWords.indexes.first(where: { $0.word == word })?.index {
            if !FieldIndexes.possible(forType: field.type).contains(index) || field.isEncrypted {
                warn(token, "\(word) is left out: a field of type \(SchemaWords.text(of: field)) cannot be \(word)")
            } else if !field.indexes.isDisjoint(with: index) {
                warn(token, "\(word) stands twice")
            } else {
                field.indexes.insert(index)
            }
            try advance()
        }
        if name.text.hasPrefix("_") { return try takeSystemField(name, typeToken, field, &type, &systemFields) }
        if NameChecks.field(name.text) != nil, NameChecks.isSystemName(name.text), !isShare {
            return warn(name, "the field \(name.shown) is left out: the server does not have it")
        }
        if let error = NameChecks.field(name.text), !isShare || !NameChecks.isSystemName(name.text) { throw name.fault(error.reason) }
        guard type.fields[name.text] == nil else { throw name.fault("the field \(name.shown) stands twice") }
        type.fields[name.text] = field
    }

    private mutating func takeSystemField(
        _ name: Token, _ typeToken: Token, _ field: FieldSchema, _ type: inout RecordTypeSchema, _ systemFields: inout Set<String>
    ) throws(SchemaFault) {
        guard let system = SchemaWords.systemFields.first(where: { $0.name == name.text }) else {
            return warn(name, "the system field \(name.shown) is left out: the schema language does not have it")
        }
        guard systemFields.insert(name.text).inserted else { throw name.fault("the field \(name.shown) stands twice") }
        var indexes = field.indexes
        if field.type != system.type || field.isEncrypted {
            warn(typeToken, "the system field \(name.shown) is of type \(system.type)")
            indexes.formIntersection(FieldIndexes.possible(forType: system.type))
        }
        guard let key = system.field else {
            if !indexes.isEmpty { warn(name, "the system field \(name.shown) cannot have indexes") }
            return
        }
        if !indexes.isEmpty { type.systemIndexes[key] = indexes }
    }

    private mutating func parseType() throws(SchemaFault) -> FieldSchema {
        guard token.keyword == "LIST" else { return try parsePrimitive() }
        return try parseList(isEncrypted: false)
    }

    private mutating func parseList(isEncrypted: Bool) throws(SchemaFault) -> FieldSchema {
        try expect("LIST")
        try expect(sign: "<")
        var field = try parsePrimitive(isEncrypted: isEncrypted)
        try expect(sign: ">")
        field.type += "_LIST"
        return field
    }

    /// - Parameter isOutside: Whether ENCRYPTED stands before the list of the type.
    private mutating func parsePrimitive(isEncrypted isOutside: Bool = false) throws(SchemaFault) -> FieldSchema {
        var isEncrypted = isOutside
        if token.keyword == "ENCRYPTED" {
            isEncrypted = true
            let word = token
            try advance()
            // Hand-written texts have it before the list.
            if token.keyword == "LIST", !isOutside { return try parseList(isEncrypted: true) }
            if token.keyword == "ASSET" {
                warn(word, "ENCRYPTED is left out: a field of type ASSET cannot be ENCRYPTED")
                isEncrypted = false
            }
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
        if role.text.hasPrefix("_"), !SecurityGrants.builtInRoles.contains(role.text) {
            granted.removeLast()
            return warn(role, "the grant is left out: the role \(role.shown) does not exist")
        }
        if role.text == SecurityGrants.world, permissions != .read {
            warn(role, "the role \"_world\" can only be granted READ")
            permissions.formIntersection(.read)
            if permissions.isEmpty { return }
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
        case .word: warn(name, "names that begin with an underscore stand in quotes")
        case .sign, .end: throw unexpected(what)
        }
        try advance()
        return name
    }
}
