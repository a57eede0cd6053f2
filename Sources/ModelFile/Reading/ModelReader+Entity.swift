// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

extension ModelReader {
    package mutating func entity(_ element: SourceElement) -> Entity {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: name.isEmpty ? "an entity" : name)
        // `syncable` is a switch of services that no longer exist.
        reader.ignore("name", "syncable")

        var entity = Entity(name: name, superentity: reader.name("parentEntity"), isAbstract: reader.flag("isAbstract"))
        if let className = reader.name("representedClassName") {
            (entity.className, entity.classModule) = classAndModule(className)
        }
        entity.codeGeneration = codeGeneration(&reader)
        entity.renamingIdentifier = reader.name("elementID", "renamingIdentifier")
        entity.versionHashModifier = reader.name("versionHashModifier")
        entity.spotlightDisplayNameExpression = reader.name("coreSpotlightDisplayNameExpression")
        entity.userInfo = reader.userInfo()

        for child in reader.children("attribute") {
            let (attribute, isIndexed) = attribute(child, of: name)
            entity.attributes.append(attribute)
            if isIndexed { entity.indexes.append(legacyIndex(on: attribute.name)) }
        }
        for child in reader.children("relationship") {
            let (relationship, isIndexed) = relationship(child, of: name)
            entity.relationships.append(relationship)
            if isIndexed { entity.indexes.append(legacyIndex(on: relationship.name)) }
        }
        for child in reader.children("fetchedProperty") {
            if let property = fetchedProperty(child, of: name) { entity.fetchedProperties.append(property) }
        }
        for child in reader.children("fetchIndex") {
            if let index = fetchIndex(child, of: name) { entity.indexes.append(index) }
        }
        entity.indexes += compoundIndexes(&reader)
        entity.uniquenessConstraints = constraints(&reader)
        close(reader)
        return entity
    }

    private func classAndModule(_ text: String) -> (name: String, module: String?) { Self.classAndModule(text, module: module) }

    /// `Foo` is a class wherever it is, `.Foo` one of the module being built, `Module.Foo` one of that module.
    /// A dot at the end says nothing.
    package static func classAndModule(_ spelling: String, module: String?) -> (name: String, module: String?) {
        var text = spelling.trimmingCharacters(in: .whitespacesAndNewlines)[...]
        while text.hasSuffix(".") { text.removeLast() }
        while text.hasPrefix("..") { text.removeFirst() }
        if text.isEmpty { return (spelling, nil) }
        return classAndModule(text, module: module)
    }

    private static func classAndModule(_ text: Substring, module: String?) -> (name: String, module: String?) {
        guard let dot = text.lastIndex(of: ".") else { return (String(text), nil) }
        let name = String(text[text.index(after: dot)...])
        return (name, dot == text.startIndex ? module : String(text[..<dot]))
    }

    private func codeGeneration(_ reader: inout ElementReader) -> CodeGeneration {
        guard let text = reader.name("codeGenerationType") else { return .manual }
        if let result = CodeGeneration(rawValue: text) { return result }
        switch text.lowercased() {
        case "class", "class definition": return .class
        case "category", "extension", "category/extension": return .category
        case "none", "manual", "manual/none":
            reader.warning("has the code generation '\(text)'; leave codeGenerationType out for classes written by hand")
        default: reader.error("has an unknown kind of code generation '\(text)'; expected class or category")
        }
        return .manual
    }

    // MARK: Indexes and constraints

    /// The index that a property marked as indexed stands for, now that indexes are elements.
    package func legacyIndex(on property: String) -> FetchIndex {
        FetchIndex(
            name: "by\(property.prefix(1).uppercased())\(property.dropFirst())Index",
            elements: [.init(property: property)])
    }

    package func compoundIndexes(_ reader: inout ElementReader) -> [FetchIndex] {
        let compounds = reader.children("compoundIndexes").flatMap(\.children)
        return compounds.enumerated().map { number, compound in
            let elements = compound.children.compactMap { $0.attributes["value"] }.map {
                FetchIndex.Element(property: $0)
            }
            if elements.isEmpty { reader.error("has a compound index without properties") }
            return FetchIndex(name: "compoundIndex\(number + 1)", elements: elements)
        }
    }

    private func constraints(_ reader: inout ElementReader) -> [[String]] {
        reader.children("uniquenessConstraints").flatMap(\.children).compactMap { constraint in
            let names = constraint.children.compactMap { $0.attributes["value"] }
            guard !names.isEmpty else {
                reader.error("has a uniqueness constraint without attributes")
                return nil
            }
            return names
        }
    }

    package mutating func fetchIndex(_ element: SourceElement, of owner: String) -> FetchIndex? {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: "\(owner).\(name)")
        reader.ignore("name")
        if name.isEmpty { reader.error("is an index without a name") }
        var index = FetchIndex(name: name, elements: [])
        index.partialPredicateFormat = reader.name("partialIndexPredicate")
        var isComplete = true
        for child in reader.children("fetchIndexElement") {
            let (indexElement, problem) = self.indexElement(child)
            if let indexElement { index.elements.append(indexElement) } else { isComplete = false }
            if let problem { reader.error(problem) }
            for unknown in Set(child.attributes.keys).subtracting(Self.indexElementAttributes).sorted() {
                reader.warning("has an unknown attribute '\(unknown)' in an index element")
            }
        }
        close(reader)
        return isComplete ? index : nil
    }

    private func indexElement(_ element: SourceElement) -> (FetchIndex.Element?, problem: String?) {
        let expression = element.attributes["expression"]
        guard let property = element.attributes["property"] ?? expression.map({ _ in "" }) else {
            return (nil, "has an index element without a property")
        }
        let order = element.attributes["order"] ?? "ascending"
        let kind = element.attributes["type"] ?? "Binary"
        guard order == "ascending" || order == "descending" else {
            return (nil, "has an unknown order '\(order)'; expected ascending or descending")
        }
        guard kind == "Binary" || kind == "RTree" else {
            return (nil, "has an unknown index type '\(kind)'; expected Binary or RTree")
        }
        var made = FetchIndex.Element(property: property, isAscending: order == "ascending", isRTree: kind == "RTree")
        if property.isEmpty {
            made.expressionFormat = expression
            let text = element.attributes["expressionType"] ?? "Undefined"
            guard let type = AttributeType(modelText: text) else { return (nil, "has an unknown expression type '\(text)'") }
            made.expressionType = type
        }
        return (made, nil)
    }

    private static let indexElementAttributes: Set = ["property", "expression", "expressionType", "type", "order"]
}
