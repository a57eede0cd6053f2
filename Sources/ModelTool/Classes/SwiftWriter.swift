// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
package import ModelFile

/// Writes the Swift file that goes with a model: classes or extensions for the entities that ask for them, and
/// the class through which a program finds the model without a file.
///
/// The text depends on the model alone: entities and properties are sorted by name.
///
/// Source: `xcdatamodel-format`, "Code generation rules" (observed in Xcode's generated sources).
/// Differs: `@objc` and `@NSManaged` are left out, and properties are computed, because they need the
/// Objective-C runtime. On Apple's platforms the whole file is empty.
package struct SwiftWriter {
    let name: String
    let sourceName: String
    let compiled: CompiledModel
    /// The module that the file will be compiled in, when it is known.
    let module: String?
    var model: Model { compiled.current }

    package init(_ compilation: ModelFileContents, module: String?) {
        name = compilation.name
        sourceName = compilation.sourceName
        compiled = compilation.compiled
        self.module = module
    }

    /// - Throws: ``CompiledModelError`` when the model cannot be written as text.
    package func source() throws(CompiledModelError) -> String {
        let generated = model.entities.filter { $0.codeGeneration != .manual && $0.className != "NSManagedObject" }
        var parts = [heading]
        for entity in generated.sorted(by: { $0.name < $1.name }) { parts.append(declarations(for: entity)) }
        parts.append(try registration())
        return parts.joined(separator: "\n\n") + "\n#endif\n"
    }

    private var heading: String {
        let foreign = modulesReferredTo.map { "#if canImport(\($0))\npublic import \($0)\n#endif\n" }.joined()
        return """
            // Written by modelc from \(sourceName). Edit the model, not this file.
            // swift-format-ignore-file

            #if !canImport(ObjectiveC)
            public import CoreData
            \(foreign)
            """.trimmingSuffix("\n")
    }

    /// Modules in front of class names. A text such as `Palette.Entry` may also be a nested type, which is
    /// why the import depends on there being such a module.
    private var modulesReferredTo: [String] {
        var result: Set<String> = []
        for entity in model.entities where entity.codeGeneration == .manual {
            result.formUnion([entity.classModule ?? ""])
        }
        for entity in model.entities where entity.codeGeneration != .manual {
            for attribute in entity.attributes where attribute.type == .transformable {
                let parts = (attribute.valueClassName ?? "").split(separator: ".")
                if parts.count > 1, parts.allSatisfy({ SwiftName.isIdentifier(String($0)) }) {
                    result.insert(String(parts[0]))
                }
            }
        }
        return result.subtracting(["", module ?? "", "Swift", "Foundation", "CoreData"]).sorted()
    }

    // MARK: Entities

    private func declarations(for entity: Entity) -> String {
        let className = SwiftName.escaped(entity.className)
        let opening =
            switch entity.codeGeneration {
            case .class: "nonisolated public class \(className): \(superclass(of: entity)) {"
            case .category, .manual: "nonisolated extension \(className) {"
            }
        var members: [String] = []
        if let keys = keys(of: entity) { members.append(keys) }
        members.append(fetchRequest(for: entity, className: className))
        for attribute in entity.attributes.sorted(by: { $0.name < $1.name }) {
            members.append(property(for: attribute))
        }
        for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
            members.append(property(for: relationship))
        }
        for property in entity.fetchedProperties.sorted(by: { $0.name < $1.name }) { members.append(self.property(for: property)) }
        for relationship in entity.relationships.filter(\.isToMany).sorted(by: { $0.name < $1.name }) {
            members += accessors(for: relationship)
        }
        let body = members.map { $0.indented() }.joined(separator: "\n\n")
        var text = "// MARK: - \(entity.name)\n\n\(opening)\n\(body)\n}"
        if !inheritsIdentity(entity) { text += "\n\nextension \(className): Identifiable {}" }
        return text
    }

    func className(of entityName: String) -> String {
        guard let entity = model.entities.first(where: { $0.name == entityName }) else {
            preconditionFailure("destinations and parents were checked before Swift is written")
        }
        return entity.className == "NSManagedObject" ? library(entity.className) : SwiftName.escaped(entity.className)
    }

    private func superclass(of entity: Entity) -> String {
        entity.superentity.map { className(of: $0) } ?? library("NSManagedObject")
    }

    /// Whether an ancestor's generated code already makes the class identifiable.
    private func inheritsIdentity(_ entity: Entity) -> Bool {
        var current = entity.superentity
        while let name = current, let parent = model.entities.first(where: { $0.name == name }) {
            if parent.codeGeneration != .manual, parent.className != "NSManagedObject" { return true }
            current = parent.superentity
        }
        return false
    }

    private func keys(of entity: Entity) -> String? {
        let names = entity.attributes.map(\.name) + entity.relationships.map(\.name) + entity.fetchedProperties.map(\.name)
        guard !names.isEmpty else { return nil }
        let lines = names.sorted().map {
            "    static let \(SwiftName.escaped($0)) = \(library("ManagedPropertyKey"))(\(literal($0)))"
        }
        return "private enum PropertyKeys {\n\(lines.joined(separator: "\n"))\n}"
    }

    private func fetchRequest(for entity: Entity, className: String) -> String {
        """
        public class func fetchRequest() -> \(library("NSFetchRequest"))<\(className)> {
            \(library("NSFetchRequest"))<\(className)>(entityName: \(literal(entity.name)))
        }
        """
    }

    // MARK: The model itself

    private func registration() throws(CompiledModelError) -> String {
        let text = String(decoding: try compiled.encoded(), as: UTF8.self)
        let hashes = String(repeating: "#", count: delimiterLength(for: text))
        return """
            // MARK: - The model

            /// Registers the model at run time, so that a container finds it by name without a file.
            nonisolated public final class \(registrationName): ManagedModelRegistration {
                override public class var models: [\(standard("String")): \(standard("String"))] {
                    [
                        \(literal(name)): \(hashes)\"""
                            \(text)
                            \"""\(hashes)
                    ]
                }
            }
            """
    }

    private var registrationName: String {
        let letters = name.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" }
        let start = letters.first.map { $0.isNumber } ?? true ? "_" : ""
        return start + String(letters) + "ModelRegistration"
    }

    /// One more than the longest run of `#` after a quote or a backslash, so that nothing in the text ends the
    /// literal or starts an escape.
    private func delimiterLength(for text: String) -> Int {
        var longest = 0
        var run: Int?
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): run = 0
            case UInt8(ascii: "#"): run = run.map { $0 + 1 }
            default: run = nil
            }
            longest = max(longest, run ?? 0)
        }
        return longest + 1
    }
}
