// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Why no symbol can be written for a member.
package struct ResolutionFailure: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// Finds out which declaration a name in source means.
package struct TypeResolver {
    package let own: SourceIndex
    /// The dependencies of the target, nearest first.
    package let dependencies: [SourceIndex]

    package init(own: SourceIndex, dependencies: [SourceIndex]) {
        self.own = own
        self.dependencies = dependencies
    }

    /// - Parameter scope: The types around the place where the type is written, outermost first.
    package func resolve(_ type: TypeSyntax, in scope: [String]) throws(ResolutionFailure) -> MangledType {
        try resolve(type, in: scope, module: own, depth: 0)
    }

    /// How many aliases may lead to one another.
    private static let aliasesMax = 64

    private func resolve(
        _ type: TypeSyntax, in scope: [String], module: SourceIndex, depth: Int
    ) throws(ResolutionFailure) -> MangledType {
        guard depth < Self.aliasesMax else { throw ResolutionFailure("its type is an alias of itself") }
        func inner(_ type: TypeSyntax) throws(ResolutionFailure) -> MangledType {
            try resolve(type, in: scope, module: module, depth: depth + 1)
        }
        func all(_ types: [TypeSyntax]) throws(ResolutionFailure) -> [MangledType] {
            var result: [MangledType] = []
            for type in types { result.append(try inner(type)) }
            return result
        }
        switch type {
        case .optional(let wrapped): return .optional(try inner(wrapped))
        case .array(let element): return Self.standard("Array", [try inner(element)])
        case .dictionary(let key, let value): return Self.standard("Dictionary", [try inner(key), try inner(value)])
        case .tuple(let elements): return elements.isEmpty ? .void : .tuple(try all(elements))
        case .other(let what): throw ResolutionFailure("\(what) cannot be a property of a managed object")
        case .named(let components):
            let arguments = try all(components.last?.arguments ?? [])
            let names = components.map(\.name)
            if let found = try declared(names, arguments, in: scope, module, depth) { return found }
            if let known = KnownTypes.type(named: unqualified(names), arguments) { return known }
            throw ResolutionFailure(
                "type '\(names.joined(separator: "."))' is declared neither in this target nor in its dependencies")
        }
    }

    private static func standard(_ name: String, _ arguments: [MangledType]) -> MangledType {
        .generic(module: "Swift", [MangledType.Segment(name, .struct)], arguments: arguments)
    }

    private func unqualified(_ names: [String]) -> [String] {
        let modules: Set = ["Swift", "Foundation", "FoundationEssentials", "CoreData", "CloudKit"]
        return names.count > 1 && modules.contains(names[0]) ? Array(names.dropFirst()) : names
    }

    // MARK: Declarations in source

    private func declared(
        _ names: [String], _ arguments: [MangledType], in scope: [String], _ module: SourceIndex, _ depth: Int
    ) throws(ResolutionFailure) -> MangledType? {
        if let found = try declared(names, arguments, in: scope, within: module, depth) { return found }
        let others = (module.module == own.module ? [] : [own]) + dependencies.filter { $0.module != module.module }
        for other in others {
            if let found = try declared(names, arguments, in: [], within: other, depth) { return found }
        }
        return nil
    }

    /// Looks in the types around the name, from the innermost to the module itself.
    private func declared(
        _ names: [String], _ arguments: [MangledType], in scope: [String], within index: SourceIndex, _ depth: Int
    ) throws(ResolutionFailure) -> MangledType? {
        var names = names
        if names.count > 1, names[0] == index.module, index.types[names[0]] == nil { names.removeFirst() }
        for count in stride(from: scope.count, through: 0, by: -1) {
            let path = (scope.prefix(count) + names).joined(separator: ".")
            if let alias = index.aliases[path] { return try resolve(alias.type, in: alias.scope, module: index, depth: depth + 1) }
            guard let declaration = index.types[path] else { continue }
            if declaration.kind == .protocol { return .existential(module: index.module, name: path) }
            let segments = segments(of: path, in: index)
            return arguments.isEmpty
                ? .nominal(module: index.module, segments) : .generic(module: index.module, segments, arguments: arguments)
        }
        return nil
    }

    /// The way from the module to a declared type.
    package func segments(of path: String, in index: SourceIndex) -> [MangledType.Segment] {
        var segments: [MangledType.Segment] = []
        var prefix = ""
        for name in path.split(separator: ".") {
            prefix += (prefix.isEmpty ? "" : ".") + name
            let declaration = index.types[prefix]
            let kind: MangledType.Kind =
                switch declaration?.kind {
                case .struct: .struct
                case .enum: .enum
                case .class, .protocol, nil: .class
                }
            // A type inside a hidden one needs no discriminator of its own.
            let isHidden = declaration?.access.isHidden == true && segments.allSatisfy { $0.discriminator == nil }
            let discriminator = isHidden ? declaration.map { Digest.discriminator(module: index.module, file: $0.file) } : nil
            segments.append(MangledType.Segment(String(name), kind, discriminator: discriminator))
        }
        return segments
    }
}
