// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelFile

extension ModelFileWriter {
    func element(for entity: Entity) -> WrittenElement {
        let form = document.sourceForm(of: entity.name)
        if let same = unchanged(form, entity, { $0.entity($1) }) { return same }
        let legacy = legacyIndexes(of: entity)
        var attributes = ["name": entity.name]
        attributes["representedClassName"] = className(of: entity, form)
        attributes["parentEntity"] = entity.superentity
        if entity.isAbstract { attributes["isAbstract"] = "YES" }
        attributes["elementID"] = entity.renamingIdentifier
        attributes["versionHashModifier"] = entity.versionHashModifier
        if form == nil { attributes["syncable"] = "YES" }
        if entity.codeGeneration != .manual { attributes["codeGenerationType"] = entity.codeGeneration.rawValue }
        attributes["coreSpotlightDisplayNameExpression"] = entity.spotlightDisplayNameExpression

        func subject(_ name: String) -> String { "\(entity.name).\(name)" }
        var children = entity.attributes.sorted { $0.name < $1.name }.map {
            element(for: $0, document.sourceForm(of: subject($0.name)), isIndexed: legacy.properties[$0.name] != nil)
        }
        children += entity.relationships.sorted { $0.name < $1.name }.map {
            element(for: $0, document.sourceForm(of: subject($0.name)), isIndexed: legacy.properties[$0.name] != nil)
        }
        children += entity.fetchedProperties.sorted { $0.name < $1.name }.map { element(for: $0, owner: entity.name) }
        children += legacy.compoundElements
        children += entity.indexes.filter { !legacy.contains($0) }.map { element(for: $0, document.sourceForm(of: subject($0.name))) }
        children += constraints(of: entity)
        children += userInfo(entity.userInfo, form)
        return WrittenElement("entity", merged(attributes, form, by: .entity), children: arranged(children + others(form), like: form))
    }

    /// A class of the module being built keeps its leading dot.
    private func className(of entity: Entity, _ form: ModelDocument.SourceForm?) -> String? {
        if let spelling = form?.spellings["representedClassName"], !spelling.isEmpty,
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

    private func element(for index: FetchIndex, _ form: ModelDocument.SourceForm?) -> WrittenElement {
        if let same = unchanged(form, index, { $0.fetchIndex($1, of: "") }) { return same }
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
        return WrittenElement("fetchIndex", merged(attributes, form, by: .fetchIndex), children: elements + others(form))
    }

    private func element(for property: FetchedProperty, owner: String) -> WrittenElement {
        let subject = "\(owner).\(property.name)"
        let form = document.sourceForm(of: subject)
        if let same = unchanged(form, property, { $0.fetchedProperty($1, of: owner) }) { return same }
        var attributes = ["name": property.name]
        if property.isOptional { attributes["optional"] = "YES" }
        attributes["elementID"] = property.renamingIdentifier
        attributes["versionHashModifier"] = property.versionHashModifier
        let request = element(for: property.request, document.sourceForm(of: subject, in: .fetchedRequests))
        return WrittenElement(
            "fetchedProperty", merged(attributes, form, by: .fetchedProperty),
            children: [request] + userInfo(property.userInfo, form) + others(form))
    }
}
