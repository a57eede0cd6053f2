// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Writes a Swift file that uses every declaration of a `SurfaceList` with its documented type, and a test that compares
/// every constant with its documented value. The file compiles only if all declarations are there.
struct SurfaceWriter {
    /// The name of the list's file, without its extension; the suite is named after it.
    var name: String
    var list: SurfaceList
    /// Modules that the file imports in addition to `Foundation` and `Testing`.
    var imports: [String]

    func source() -> String {
        var lines = [
            "// SPDX-License-Identifier: Apache-2.0", "// SPDX-FileCopyrightText: The Tarn authors", "",
            "// Generated from Tests/Surface/\(name).txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests", "",
        ]
        lines += (imports + ["Foundation", "Testing"]).sorted().map { "import " + $0 }
        let functions = list.types.flatMap(functions) + [globals(deprecated: false), globals(deprecated: true)].compactMap(\.self)
        lines += ["", "@Suite struct \(name)SurfaceTests {", "    @Test func constantsHaveTheirDocumentedValues() {"]
        lines += constants().map { "        " + $0 }
        lines += ["    }", "", "    @Test func membersHaveTheirDocumentedTypes() {"]
        lines += functions.filter { !$0.isDeprecated }.map { "        Self.\($0.name)()" }
        lines += ["    }"]
        for function in functions {
            lines.append("")
            if function.isDeprecated { lines.append("    @available(*, deprecated)") }
            lines.append("    private static func \(function.name)() {")
            lines += function.uses.map { "        " + $0 }
            lines.append("    }")
        }
        for type in list.types where type.kind == .class { lines += properties(type) }
        return (lines + ["}", ""]).joined(separator: "\n")
    }

    /// The documented properties of a class by name, for tests that compare two objects member by member.
    private func properties(_ type: SurfaceList.TypeEntry) -> [String] {
        let names = type.members.compactMap { member -> String? in
            guard case .property(let name, false, _, _) = member.kind, !member.isDeprecated else { return nil }
            return name
        }
        if names.isEmpty || type.isDeprecated { return [] }
        let base = type.name.filter { $0.isLetter || $0.isNumber }
        return ["", "    static var propertiesOf\(base): [(name: String, path: PartialKeyPath<\(type.name)>)] {", "        ["]
            + names.map { "            (\"\($0)\", \\.\($0))," } + ["        ]", "    }"]
    }

    private struct Function {
        var name: String
        var isDeprecated: Bool
        var uses: [String]
    }

    private func functions(_ type: SurfaceList.TypeEntry) -> [Function] {
        let base = type.name.filter { $0.isLetter || $0.isNumber } + (type.kind == .extension ? "Extension" : "")
        var current = type.kind == .extension ? [] : conformances(type)
        var old: [String] = []
        for member in type.members {
            let lines = uses(member, of: type)
            if member.isDeprecated { old += lines } else { current += lines }
        }
        return [
            Function(name: "uses" + base, isDeprecated: type.isDeprecated, uses: current),
            Function(name: "usesDeprecated" + base, isDeprecated: true, uses: old),
        ].filter { !$0.uses.isEmpty }
    }

    private func globals(deprecated: Bool) -> Function? {
        let chosen = list.globals.filter { $0.isDeprecated == deprecated }
        let lines = chosen.compactMap { member -> String? in
            guard case .property(let name, _, let type, _) = member.kind else { return nil }
            return "_ = { () -> \(type) in \(name) }"
        }
        if lines.isEmpty { return nil }
        return Function(name: deprecated ? "usesDeprecatedGlobals" : "usesGlobals", isDeprecated: deprecated, uses: lines)
    }

    private func conformances(_ type: SurfaceList.TypeEntry) -> [String] {
        if type.conformances.isEmpty { return ["_ = \(type.kind == .protocol ? "(any \(type.name))" : type.name).self"] }
        return type.conformances.map { "_ = { (x: \(receiver(type))) -> \($0) in x }" }
    }

    private func receiver(_ type: SurfaceList.TypeEntry) -> String {
        type.kind == .protocol ? "any \(type.name)" : type.name
    }

    private func uses(_ member: SurfaceList.Member, of type: SurfaceList.TypeEntry) -> [String] {
        let this = receiver(type)
        switch member.kind {
        case .initializer(let failable, let parameters, let effects):
            return calls(parameters).map { call in
                "_ = { (\(call.declared))\(spaced(effects)) -> \(type.name)\(failable ? "?" : "") in "
                    + "\(keywords(effects))\(type.name)(\(call.passed)) }"
            }
        case .function(let name, let isStatic, let parameters, let effects, let result):
            return calls(parameters).map { call in
                let declared = [isStatic ? nil : "x: \(this)", call.declared.isEmpty ? nil : call.declared].compactMap(\.self)
                return "_ = { (\(declared.joined(separator: ", ")))\(spaced(effects)) -> \(result) in "
                    + "\(keywords(effects))\(isStatic ? type.name : "x").\(name)(\(call.passed)) }"
            }
        case .property(let name, true, let valueType, _):
            return ["_ = { () -> \(valueType) in \(type.name).\(name) }"]
        case .property(let name, false, let valueType, let isSettable):
            let path = !isSettable ? "KeyPath" : type.kind == .class ? "ReferenceWritableKeyPath" : "WritableKeyPath"
            return ["let _: \(path)<\(this), \(valueType)> = \\.\(name)"]
        case .block(let name, let types):
            let declared = types.enumerated().map { "_: \($1)" }.joined(separator: ", ")
            return ["_ = { (x: \(this)) in x.\(name) = { (\(declared)) -> Void in } }", "_ = { (x: \(this)) in x.\(name) = nil }"]
        case .subscript(let key, let value, let isSettable):
            let read = "_ = { (x: \(this), key: \(key)) -> \(value) in x[key] }"
            return isSettable ? [read, "_ = { (x: \(this), key: \(key), value: \(value)) in x[key] = value }"] : [read]
        case .case(let name, let payload):
            guard let call = calls(payload).first, !payload.isEmpty else { return ["_ = { () -> \(type.name) in .\(name) }"] }
            return ["_ = { (\(call.declared)) -> \(type.name) in .\(name)(\(call.passed)) }"]
        case .alias(let name, let aliased):
            // In an array, a type of functions stands as it is.
            return ["_ = { (x: [\(type.name).\(name)]) -> [\(aliased)] in x }"]
        }
    }

    /// A call with all arguments, and one without those that have a default.
    private func calls(_ parameters: [SurfaceList.Parameter]) -> [(declared: String, passed: String)] {
        let numbered = parameters.enumerated().map { (name: "a\($0)", parameter: $1) }
        let needed = numbered.filter { !$0.parameter.hasDefault }
        return (needed.count == numbered.count ? [numbered] : [numbered, needed]).map { chosen in
            (
                chosen.map { "\($0.name): \($0.parameter.type)" }.joined(separator: ", "),
                chosen.map { ($0.parameter.label.map { $0 + ": " } ?? "") + $0.name }.joined(separator: ", ")
            )
        }
    }

    private func spaced(_ effects: String) -> String { effects.isEmpty ? "" : " " + effects }

    private func keywords(_ effects: String) -> String {
        (effects.contains("throws") ? "try " : "") + (effects.contains("async") ? "await " : "")
    }

    private func constants() -> [String] {
        var lines: [String] = []
        for type in list.types where !type.isDeprecated {
            for member in type.members { lines += constant(member, of: type.name + ".") }
        }
        return lines + list.globals.flatMap { constant($0, of: "") }
    }

    private func constant(_ member: SurfaceList.Member, of owner: String) -> [String] {
        guard let value = member.value, !member.isDeprecated else { return [] }
        switch member.kind {
        case .case(let name, _), .property(let name, true, _, _):
            return ["expectDocumented(\"\(owner)\(name.filter { $0 != "`" })\", \(owner)\(name), \(value))"]
        default: return []
        }
    }
}
