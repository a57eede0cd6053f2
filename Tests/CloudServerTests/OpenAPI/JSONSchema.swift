// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import TestBasics

/// As much of JSON Schema as the protocol's document uses; a keyword that is not known here is an issue of its own.
struct JSONSchema {
    let document: JSONValue

    private static let notes: Set = ["description", "examples", "example", "contentEncoding", "format"]

    func resolved(_ schema: JSONValue) -> JSONValue {
        guard let reference = schema["$ref"]?.string else { return schema }
        var found = document
        for part in reference.split(separator: "/").dropFirst() { found = found[String(part)] ?? .null }
        return resolved(found)
    }

    /// Violations of a schema by a value. Members that the schema does not name are violations, too.
    func issues(of value: JSONValue, _ schema: JSONValue, at place: String = "") -> [String] {
        let schema = resolved(schema)
        guard case .object(let keywords) = schema else { return ["\(place): there is no schema"] }
        var issues: [String] = []
        for (keyword, rule) in keywords {
            switch keyword {
            case "type":
                let types = rule.string.map { [$0] } ?? rule.list.compactMap(\.string)
                if !types.contains(where: { Self.isOfType(value, $0) }) { issues.append("\(place): is no \(types)") }
            case "const": if value != rule { issues.append("\(place): is not \(rule)") }
            case "enum": if !rule.list.contains(value) { issues.append("\(place): is none of the choices") }
            case "anyOf":
                let branches = rule.list.map { self.issues(of: value, $0, at: place) }
                if !branches.contains(where: \.isEmpty) {
                    issues.append("\(place): fits no branch: \(branches.min { $0.count < $1.count } ?? [])")
                }
            case "oneOf":
                let branches = rule.list.map { self.issues(of: value, $0, at: place) }
                if branches.count(where: \.isEmpty) != 1 {
                    issues.append("\(place): fits \(branches.count(where: \.isEmpty)) branches of oneOf")
                }
            case "discriminator":
                let name = value[rule["propertyName"]?.string ?? ""]?.string ?? ""
                guard let target = rule["mapping"]?[name] else {
                    issues.append("\(place): the discriminator has no '\(name)'")
                    break
                }
                issues += self.issues(of: value, .object(["$ref": target]), at: place)
            case "properties", "additionalProperties", "propertyNames": break
            case "required":
                for name in rule.list.compactMap(\.string) where value[name] == nil { issues.append("\(place): has no \(name)") }
            case "items":
                for (index, item) in value.list.enumerated() { issues += self.issues(of: item, rule, at: "\(place)[\(index)]") }
            case "minimum":
                if case .number(let number) = value, case .number(let least) = rule, number < least { issues.append("\(place): too small") }
            case "maximum":
                if case .number(let number) = value, case .number(let most) = rule, number > most { issues.append("\(place): too large") }
            case "minLength":
                if case .text(let text) = value, case .number(let least) = rule, text.count < Int(least) {
                    issues.append("\(place): too short")
                }
            case "maxLength":
                if case .text(let text) = value, case .number(let most) = rule, text.count > Int(most) {
                    issues.append("\(place): too long")
                }
            case "maxItems": if case .number(let most) = rule, value.list.count > Int(most) { issues.append("\(place): too many") }
            default: if !Self.notes.contains(keyword) { issues.append("\(place): the keyword \(keyword) is not known") }
            }
        }
        guard keywords["properties"] != nil || keywords["additionalProperties"] != nil else { return issues }
        for (name, member) in value.members {
            if let rule = keywords["properties"]?[name] {
                issues += self.issues(of: member, rule, at: "\(place).\(name)")
            } else if let rule = keywords["additionalProperties"] {
                issues += self.issues(of: member, rule, at: "\(place).\(name)")
            } else {
                issues.append("\(place): has \(name), of which the document does not tell")
            }
        }
        return issues
    }

    private static func isOfType(_ value: JSONValue, _ type: String) -> Bool {
        switch (value, type) {
        case (.null, "null"), (.flag, "boolean"), (.number, "number"), (.text, "string"), (.array, "array"), (.object, "object"): true
        case (.number(let number), "integer"): number == number.rounded()
        default: false
        }
    }

    // MARK: Values

    /// A value that the schema allows.
    func value(of schema: JSONValue, depth: Int = 0, using random: inout SeededNumbers) -> JSONValue {
        let schema = resolved(schema)
        if let constant = schema["const"] { return constant }
        if let choices = schema["enum"]?.list.randomElement(using: &random) { return choices }
        if let branch = (schema["anyOf"] ?? schema["oneOf"])?.list.randomElement(using: &random) {
            return value(of: branch, depth: depth, using: &random)
        }
        if let example = schema["examples"]?.list.randomElement(using: &random), Int.random(in: 0..<8, using: &random) > 0 {
            return example
        }
        let types = schema["type"].map { $0.string.map { [$0] } ?? $0.list.compactMap(\.string) } ?? []
        switch types.randomElement(using: &random) {
        case "string":
            guard schema["contentEncoding"] == nil else { return .text("AQID") }
            if types.count > 1 { return .text("\(Int.random(in: -9...9, using: &random))") }
            return .text(Self.texts.randomElement(using: &random) ?? "x")
        case "integer": return .number(Double(Int.random(in: max(-5, least(schema))...1000, using: &random)))
        case "number": return .number(Double(Int.random(in: max(-500, least(schema))...90, using: &random)) / 4)
        case "boolean": return .flag(Bool.random(using: &random))
        case "array":
            guard depth < 8, schema["maxItems"] == nil, let items = schema["items"] else { return .array([]) }
            return .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(of: items, depth: depth + 1, using: &random) })
        case "object": return object(schema, depth: depth, using: &random)
        default: return .null
        }
    }

    private static let texts = ["x", "Sage", "a b", "é€😀", "_x", "a/b", "'; DROP TABLE records; --", "%00", "..", "{}", "\\\"", "\u{1}"]

    private func least(_ schema: JSONValue) -> Int {
        if case .number(let least)? = schema["minimum"] { Int(least) } else { .min }
    }

    private func object(_ schema: JSONValue, depth: Int, using random: inout SeededNumbers) -> JSONValue {
        let required = Set((schema["required"]?.list ?? []).compactMap(\.string))
        var members: [String: JSONValue] = [:]
        for (name, rule) in (schema["properties"]?.members ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard required.contains(name) || depth < 8 && Int.random(in: 0..<3, using: &random) == 0 else { continue }
            members[name] = value(of: rule, depth: depth + 1, using: &random)
        }
        if let rule = schema["additionalProperties"] {
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let name = schema["propertyNames"].flatMap { value(of: $0, using: &random).string } ?? "x"
                members[name] = value(of: rule, depth: depth + 1, using: &random)
            }
        }
        return .object(members)
    }

    /// A value with one part of it taken away, or put in place of by something else.
    func broken(_ value: JSONValue, using random: inout SeededNumbers) -> JSONValue {
        let isHere = Int.random(in: 0..<3, using: &random) == 0
        switch value {
        case .object(var members) where !isHere && !members.isEmpty:
            let name = members.keys.sorted().randomElement(using: &random) ?? ""
            if Int.random(in: 0..<5, using: &random) == 0 {
                members[name] = nil
            } else {
                members[name] = broken(members[name] ?? .null, using: &random)
            }
            return .object(members)
        case .array(var items) where !isHere && !items.isEmpty:
            let index = Int.random(in: 0..<items.count, using: &random)
            items[index] = broken(items[index], using: &random)
            return .array(items)
        default:
            return Self.oddities.randomElement(using: &random) ?? .null
        }
    }

    private static let oddities: [JSONValue] = [
        .null, .flag(true), .number(-1), .number(0), .number(1e300), .number(0.5), .number(9_223_372_036_854_775_808), .text(""),
        .text(String(repeating: "x", count: 3000)), .text("\u{0}"), .array([]), .array([.null]), .object([:]),
        .object(["value": .object(["value": .null])]), .array(Array(repeating: .text("sage"), count: 500)),
    ]
}
