// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension ModelFileWriter {
    func element(for entity: Entity) -> WrittenElement {
        let kept = document.kept(entity.name)
        if let same = unchanged(kept, entity, { $0.entity($1) }) { return same }
        let legacy = legacyIndexes(of: entity)
        var attributes = ["name": entity.name]
        attributes["representedClassName"] = className(of: entity, kept)
        attributes["parentEntity"] = entity.superentity
        if entity.isAbstract { attributes["isAbstract"] = "YES" }
        attributes["elementID"] = entity.renamingIdentifier
        attributes["versionHashModifier"] = entity.versionHashModifier
        if kept == nil { attributes["syncable"] = "YES" }
        if entity.codeGeneration != .manual { attributes["codeGenerationType"] = entity.codeGeneration.rawValue }
        attributes["coreSpotlightDisplayNameExpression"] = entity.spotlightDisplayNameExpression

        func subject(_ name: String) -> String { "\(entity.name).\(name)" }
        var children = entity.attributes.sorted { $0.name < $1.name }.map {
            element(for: $0, document.kept(subject($0.name)), isIndexed: legacy.properties[$0.name] != nil)
        }
        children += entity.relationships.sorted { $0.name < $1.name }.map {
            element(for: $0, document.kept(subject($0.name)), isIndexed: legacy.properties[$0.name] != nil)
        }
        children += entity.fetchedProperties.sorted { $0.name < $1.name }.map { element(for: $0, owner: entity.name) }
        children += legacy.compoundElements
        children += entity.indexes.filter { !legacy.contains($0) }.map { element(for: $0, document.kept(subject($0.name))) }
        children += constraints(of: entity)
        children += userInfo(entity.userInfo, kept)
        return WrittenElement("entity", merged(attributes, kept, by: .entity), children: arranged(children + others(kept), like: kept))
    }

    /// A class of the module being built keeps its leading dot.
    private func className(of entity: Entity, _ kept: ModelDocument.Kept?) -> String? {
        if let spelling = kept?.spellings["representedClassName"], !spelling.isEmpty,
            ModelReader.classAndModule(spelling, module: document.module) == (entity.className, entity.classModule)
        {
            return spelling
        }
        let name = entity.classModule.map { "\($0).\(entity.className)" } ?? entity.className
        return name == "NSManagedObject" ? nil : name
    }

    private func constraints(of entity: Entity) -> [WrittenElement] {
        guard !entity.uniquenessConstraints.isEmpty else { return [] }
        let constraints = entity.uniquenessConstraints.map { names in
            WrittenElement("uniquenessConstraint", children: names.map { WrittenElement("constraint", [("value", $0)]) })
        }
        return [WrittenElement("uniquenessConstraints", children: constraints)]
    }

    private func element(for index: FetchIndex, _ kept: ModelDocument.Kept?) -> WrittenElement {
        if let same = unchanged(kept, index, { $0.fetchIndex($1, of: "") }) { return same }
        var attributes = ["name": index.name]
        attributes["partialIndexPredicate"] = index.partialPredicateFormat
        let elements = index.elements.map { element in
            var attributes = ["type": element.isRTree ? "RTree" : "Binary", "order": element.isAscending ? "ascending" : "descending"]
            if let expression = element.expressionFormat {
                attributes["expression"] = expression
                attributes["expressionType"] = element.expressionType.modelText
            } else {
                attributes["property"] = element.property
            }
            return WrittenElement("fetchIndexElement", AttributeOrder.indexElement.sorted(attributes))
        }
        return WrittenElement("fetchIndex", merged(attributes, kept, by: .fetchIndex), children: elements + others(kept))
    }

    private func element(for property: FetchedProperty, owner: String) -> WrittenElement {
        let subject = "\(owner).\(property.name)"
        let kept = document.kept(subject)
        if let same = unchanged(kept, property, { $0.fetchedProperty($1, of: owner) }) { return same }
        var attributes = ["name": property.name]
        if property.isOptional { attributes["optional"] = "YES" }
        attributes["elementID"] = property.renamingIdentifier
        attributes["versionHashModifier"] = property.versionHashModifier
        let request = element(for: property.request, document.kept(subject, in: .fetchedRequests))
        return WrittenElement(
            "fetchedProperty", merged(attributes, kept, by: .fetchedProperty), children: [request] + userInfo(property.userInfo, kept) + others(kept))
    }
}
