// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile

extension ModelFileWriter {
    /// - Parameter isIndexed: Whether the file asks for an index on the attribute in the older form, and the entity has it.
    func element(for attribute: Attribute, _ form: ModelDocument.SourceForm?, isIndexed: Bool = false) -> WrittenElement {
        let wasIndexed = form?.spellings["indexed"].flatMap(ElementReader.flag(from:)) == true
        if isIndexed == wasIndexed, let same = unchanged(form, attribute, { $0.attribute($1, of: "").attribute }) { return same }
        var form = form
        // A text is the same only when it is spelled the same.
        if attribute.type == .string, form?.spellings["defaultValueString"] != attribute.defaultValue.text {
            form?.spellings["defaultValueString"] = nil
        }
        var attributes = ["name": attribute.name, "attributeType": attribute.type.modelText]
        if attribute.type == .undefined, let form, form.spellings["attributeType"] == nil { attributes["attributeType"] = nil }
        func flag(_ name: String, _ value: Bool) { if value { attributes[name] = "YES" } }
        flag("indexed", isIndexed)
        flag("optional", attribute.isOptional)
        flag("transient", attribute.isTransient)
        flag("derived", attribute.derivationExpression != nil)
        flag("allowsExternalBinaryDataStorage", attribute.allowsExternalBinaryDataStorage)
        flag("allowsCloudEncryption", attribute.allowsCloudEncryption)
        flag("preserveAfterDeletion", attribute.preservesValueInHistoryOnDeletion)
        flag("spotlightIndexingEnabled", attribute.isIndexedBySpotlight)
        flag("usesScalarValueType", attribute.usesScalarValueType)
        if form == nil, attribute.type.mayBeScalar, !attribute.usesScalarValueType { attributes["usesScalarValueType"] = "NO" }
        attributes["composite"] = attribute.compositeName
        attributes["derivationExpression"] = attribute.derivationExpression
        attributes["valueTransformerName"] = attribute.valueTransformerName
        attributes["customClassName"] = attribute.valueClassName
        attributes["regularExpressionString"] = attribute.regularExpression
        attributes["elementID"] = attribute.renamingIdentifier
        attributes["versionHashModifier"] = attribute.versionHashModifier
        let isDate = attribute.type == .date
        attributes[isDate ? "minDateTimeInterval" : "minValueString"] = attribute.minimum.map(DefaultValue.text)
        attributes[isDate ? "maxDateTimeInterval" : "maxValueString"] = attribute.maximum.map(DefaultValue.text)
        if let text = DefaultValue.text(of: attribute) { attributes[isDate ? "defaultDateTimeInterval" : "defaultValueString"] = text }
        return WrittenElement(
            "attribute", merged(attributes, form, by: .attribute),
            children: arranged(userInfo(attribute.userInfo, form) + others(form), like: form))
    }

    func element(for relationship: Relationship, _ form: ModelDocument.SourceForm?, isIndexed: Bool = false) -> WrittenElement {
        let wasIndexed = form?.spellings["indexed"].flatMap(ElementReader.flag(from:)) == true
        if isIndexed == wasIndexed, let same = unchanged(form, relationship, { $0.relationship($1, of: "").relationship }) { return same }
        var attributes = ["name": relationship.name, "destinationEntity": relationship.destination]
        func flag(_ name: String, _ value: Bool) { if value { attributes[name] = "YES" } }
        flag("indexed", isIndexed)
        flag("optional", relationship.isOptional)
        flag("transient", relationship.isTransient)
        flag("toMany", relationship.isToMany)
        flag("ordered", relationship.isOrdered)
        flag("spotlightIndexingEnabled", relationship.isIndexedBySpotlight)
        if relationship.minimumCount != 0 { attributes["minCount"] = "\(relationship.minimumCount)" }
        if relationship.isToMany ? relationship.maximumCount != 0 : form == nil || form?.spellings["maxCount"] != nil {
            attributes["maxCount"] = "\(relationship.maximumCount)"
        }
        if relationship.deleteRule != .nullify || form == nil || form?.spellings["deletionRule"] != nil {
            attributes["deletionRule"] = relationship.deleteRule.modelText
        }
        attributes["inverseName"] = relationship.inverse
        attributes["elementID"] = relationship.renamingIdentifier
        attributes["versionHashModifier"] = relationship.versionHashModifier
        var form = form
        let leadsWhereItDid =
            form?.spellings["destinationEntity"] == relationship.destination && form?.spellings["inverseName"] == relationship.inverse
        if !leadsWhereItDid || form?.spellings["inverseEntity"] == nil {
            form?.carried["inverseEntity"] = nil
            form?.spellings["inverseEntity"] = nil
            if relationship.inverse != nil { attributes["inverseEntity"] = relationship.destination }
        }
        return WrittenElement(
            "relationship", merged(attributes, form, by: .relationship),
            children: arranged(userInfo(relationship.userInfo, form) + others(form), like: form))
    }

    // MARK: Values that a file cannot hold

    func unwritable() -> [ModelError.Problem] {
        var problems: [ModelError.Problem] = []
        if model.versionIdentifiers.count > 1 {
            problems.append(.init(entity: "the model", what: "has several version identifiers; a model file holds one"))
        }
        let owners = model.entities.map { ($0.name, $0.attributes) } + model.composites.map { ($0.name, $0.attributes) }
        for (owner, attributes) in owners {
            for attribute in attributes {
                if !attribute.defaultValue.isNull, DefaultValue.text(of: attribute) == nil {
                    problems.append(
                        .init(entity: owner, property: attribute.name, what: "has a default value that a model file cannot hold"))
                }
                if !attribute.elements.isEmpty {
                    problems.append(
                        .init(entity: owner, property: attribute.name, what: "is made of attributes and not of a composite with a name"))
                }
            }
        }
        for line in root().lines() where !WrittenElement.canHold(line) {
            problems.append(.init(entity: "the model", what: "has characters that XML cannot hold: \(line.debugDescription)"))
        }
        return problems
    }
}

extension AttributeType {
    /// How model files write the type.
    package var modelText: String {
        switch self {
        case .undefined: "Undefined"
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Boolean"
        case .date: "Date"
        case .binaryData: "Binary"
        case .uuid: "UUID"
        case .uri: "URI"
        case .transformable: "Transformable"
        case .objectID: "Object ID"
        case .composite: "Composite"
        }
    }

    /// The types for which Xcode writes whether the property is a scalar.
    fileprivate var mayBeScalar: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .boolean, .date, .uuid: true
        default: false
        }
    }
}

extension DeleteRule {
    fileprivate var modelText: String {
        switch self {
        case .noAction: "No Action"
        case .nullify: "Nullify"
        case .cascade: "Cascade"
        case .deny: "Deny"
        }
    }
}

extension StoredValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
