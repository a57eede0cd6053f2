// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Writes the file that gives `@NSManaged` members of a module their bodies.
///
/// Without Objective-C the compiler leaves the accessors of such members as undefined symbols. The file
/// defines them, under the very names that compiled code calls; the sources stay as they are. On Apple's platforms the
/// file is empty.
package struct AccessorWriter {
    let own: SourceIndex
    let resolver: TypeResolver
    private var keys: [String] = []
    private var modulesOfPublicTypes: Set<String> = []

    package init(own: SourceIndex, dependencies: [SourceIndex]) {
        self.own = own
        resolver = TypeResolver(own: own, dependencies: dependencies)
    }

    /// Whether a member's type needs more than the module's own sources to be found.
    package var hasUnresolvedTypes: Bool {
        own.members.contains { member in (try? signature(of: member)) == nil }
    }

    package mutating func source() -> String {
        let bodies = own.members.map { body(of: $0) }
        var parts = ["// Written by modelc: bodies of properties and methods marked @NSManaged. Edit their declarations, not this file.\n"]
        let keyed = keyedProperties()
        guard !bodies.isEmpty || !keyed.isEmpty else { return parts[0] + "// The module has none.\n" }
        parts.append("#if !canImport(ObjectiveC)\n" + imports())
        if !keys.isEmpty { parts.append(keyDeclarations()) }
        parts += bodies
        if !keyed.isEmpty { parts.append(keyed) }
        return parts.joined(separator: "\n") + "\n#endif\n"
    }

    // MARK: Members

    /// The parts of a member's symbols.
    private struct Signature {
        var owner: OwnerClass
        var parameters: [MangledType]
        /// The property's type, or the method's result.
        var type: MangledType?
    }

    private struct OwnerClass {
        var module: String
        var path: [MangledType.Segment]
        /// Where the functions stand: a class that its file hides cannot be named in the generated one.
        var extended: String
        var isHidden: Bool
    }

    private func signature(of member: SourceIndex.ManagedMember) throws(ResolutionFailure) -> Signature {
        let owner = try owner(of: member)
        switch member.kind {
        case .property(let type, _):
            guard let type else { throw ResolutionFailure("write its type; it cannot be inferred") }
            return Signature(owner: owner, parameters: [], type: try resolver.resolve(type, in: member.scope))
        case .method(let parameters, let result):
            var types: [MangledType] = []
            for parameter in parameters { types.append(try resolver.resolve(parameter.type, in: member.scope)) }
            let result = try result.map { type throws(ResolutionFailure) in try resolver.resolve(type, in: member.scope) }
            return Signature(owner: owner, parameters: types, type: result)
        }
    }

    private func owner(of member: SourceIndex.ManagedMember) throws(ResolutionFailure) -> OwnerClass {
        let name = member.scope.joined(separator: ".")
        for index in [own] + resolver.dependencies {
            guard let declaration = index.types[name] else { continue }
            guard declaration.kind == .class else { throw ResolutionFailure("only classes have managed properties") }
            let isHidden = member.scope.indices.contains { level in
                index.types[member.scope[...level].joined(separator: ".")]?.access.isHidden == true
            }
            return OwnerClass(
                module: index.module, path: resolver.segments(of: name, in: index),
                extended: isHidden ? "CoreData.NSManagedObject" : name, isHidden: isHidden)
        }
        guard case .nominal(let module, let path)? = KnownTypes.type(named: member.scope, []) else {
            throw ResolutionFailure("class '\(name)' is declared neither in this target nor in its dependencies")
        }
        return OwnerClass(module: module, path: path, extended: name, isHidden: false)
    }

    private mutating func body(of member: SourceIndex.ManagedMember) -> String {
        let text: String
        do {
            text = try functions(of: member, try signature(of: member))
        } catch {
            let name = (member.scope + [member.name]).joined(separator: ".")
            text = """
                #sourceLocation(file: "\(escaped(member.file))", line: \(member.line))
                #error("@NSManaged \(escaped(name)): \(escaped(error.reason))")
                #sourceLocation()

                """
        }
        return member.conditions.map { "#if \($0)\n" }.joined() + text + member.conditions.map { _ in "#endif\n" }.joined()
    }

    private mutating func functions(
        of member: SourceIndex.ManagedMember, _ signature: Signature
    ) throws(ResolutionFailure) -> String {
        let owner = signature.owner
        let isPublic = member.access >= .public && !owner.isHidden
        let access = isPublic ? "public " : member.access == .package && !owner.isHidden ? "package " : ""
        let setterAccess = member.hasOwnSetterAccess ? "" : access
        let isDiscriminated = member.access.isHidden && owner.path.allSatisfy { $0.discriminator == nil }
        let discriminator = isDiscriminated ? Digest.discriminator(module: own.module, file: member.file) : nil
        if isPublic {
            for type in signature.parameters + [signature.type].compactMap({ $0 }) { modulesOfPublicTypes.formUnion(type.modules) }
        }
        let number = keys.count
        let key = "key\(number)"
        var functions: [String]
        switch member.kind {
        case .property(_, let text):
            guard let type = signature.type else { throw ResolutionFailure("write its type; it cannot be inferred") }
            let isPrimitive = Self.isPrimitive(member.name)
            let written = try Self.visible(type)
            let body =
                isPrimitive
                ? PropertyAccess.primitive(type, key: key)
                : PropertyAccess(type, text: written, isInterval: text == "TimeInterval", key: key)
            func symbol(isSetter: Bool) -> String {
                SymbolMangler.accessor(
                    of: member.name, type: type, isSetter: isSetter, in: owner.module, owner.path, extending: own.module,
                    discriminator: discriminator)
            }
            functions = [
                function(symbol(isSetter: false), access, "managedGet\(number)() -> \(written)", body.get),
                function(symbol(isSetter: true), setterAccess, "managedSet\(number)(_ value: __owned \(written))", body.set),
            ]
            keys.append(member.name)
        case .method(let parameters, let result):
            guard result == nil || signature.type == .void,
                let method = RelationshipMethod(
                    member.name, labels: parameters.map(\.label), isCollection: Self.isCollection(signature.parameters),
                    selector: member.selector)
            else { throw ResolutionFailure("Core Data supplies no method of this form") }
            var list: [String] = []
            for index in parameters.indices {
                list.append("_ a\(index): \(try Self.visible(signature.parameters[index]))")
            }
            let symbol = SymbolMangler.method(
                member.name, labels: parameters.map(\.label), parameters: signature.parameters, result: signature.type,
                in: owner.module, owner.path, extending: own.module, discriminator: discriminator)
            functions = [function(symbol, access, "managedCall\(number)(\(list.joined(separator: ", ")))", method.call(key))]
            keys.append(method.relationship)
        }
        return "extension \(owner.extended) {\n\(functions.joined(separator: "\n"))\n}\n"
    }

    /// `dynamic`, because the callers' references are; a release build of another module would fail otherwise.
    private func function(_ symbol: String, _ access: String, _ signature: String, _ body: String) -> String {
        """
            @_silgen_name("\(symbol)")
            \(access)nonisolated dynamic final func \(signature) { \(body) }
        """
    }

    /// How the generated file can spell a type. A class that its file hides is passed as any managed object is.
    private static func visible(_ type: MangledType) throws(ResolutionFailure) -> String {
        guard type.isHidden else { return type.description }
        switch type {
        case .nominal(_, let path) where path.last?.kind == .class: return "CoreData.NSManagedObject"
        case .optional(.nominal(_, let path)) where path.last?.kind == .class: return "CoreData.NSManagedObject?"
        default: throw ResolutionFailure("type '\(type)' is private; make it internal")
        }
    }

    private static func isPrimitive(_ name: String) -> Bool {
        let rest = name.dropFirst("primitive".count)
        return name.hasPrefix("primitive") && rest.first?.isUppercase == true
    }

    private static func isCollection(_ parameters: [MangledType]) -> Bool {
        parameters.contains { type in
            switch type {
            case .generic: true
            case .nominal(_, let path): ["NSSet", "NSOrderedSet", "NSArray", "NSIndexSet", "IndexSet"].contains(path.last?.name)
            case .optional, .tuple, .existential, .any, .anyObject, .void: false
            }
        }
    }

    // MARK: Around the members

    /// The imports of the files with managed members, each module once.
    private func imports() -> String {
        let files = Set(own.members.map(\.file) + own.keyed.map(\.file))
        var imports: [SourceIndex.Import] = []
        for found in own.imports where files.contains(found.file) {
            if let known = imports.firstIndex(where: { $0.module == found.module && $0.conditions == found.conditions }) {
                imports[known].isPublic = imports[known].isPublic || found.isPublic
                imports[known].isTestable = imports[known].isTestable || found.isTestable
            } else {
                imports.append(found)
            }
        }
        if !imports.contains(where: { $0.module == "CoreData" }) {
            imports.append(SourceIndex.Import(module: "CoreData", conditions: [], isPublic: false, isTestable: false, file: ""))
        }
        let hasFoundation = imports.contains { $0.module == "Foundation" }
        return imports.map { line($0, hasFoundation: hasFoundation) }.joined()
    }

    private func line(_ found: SourceIndex.Import, hasFoundation: Bool) -> String {
        var provided: Set = [found.module]
        if found.module == "CoreData" {
            provided.insert(KnownTypes.coreDataModule)
            if !hasFoundation { provided.insert("Foundation") }
        }
        if provided.contains("Foundation") { provided.insert("FoundationEssentials") }
        // An import that is more public than its use is a warning.
        let isPublic = found.isPublic && !modulesOfPublicTypes.isDisjoint(with: provided)
        let text = (found.isTestable ? "@testable " : "") + (isPublic ? "public " : "") + "import \(found.module)\n"
        return found.conditions.map { "#if \($0)\n" }.joined() + text + found.conditions.map { _ in "#endif\n" }.joined()
    }

    private func keyDeclarations() -> String {
        keys.enumerated().map { "private let key\($0) = CoreData.ManagedPropertyKey(\"\(escaped($1))\")" }.joined(separator: "\n") + "\n"
    }

    private func escaped(_ text: String) -> String {
        text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
    }
}
