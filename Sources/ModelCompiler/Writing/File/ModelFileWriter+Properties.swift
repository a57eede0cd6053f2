// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

extension ModelFileWriter {
    /// - Parameter isIndexed: Whether the file asks for an index on the attribute in the older form, and the entity has it.
    func element(for attribute: Attribute, _ kept: ModelDocument.Kept?, isIndexed: Bool = false) -> WrittenElement {
        let wasIndexed = kept?.spellings["indexed"].flatMap(ElementReader.flag(from:)) == true
        if isIndexed == wasIndexed, let same = unchanged(kept, attribute, { $0.attribute($1, of: "").attribute }) { return same }
        var kept = kept
        // A text is the same only when it is spelled the same.
        if attribute.type == .string, kept?.spellings["defaultValueString"] != attribute.defaultValue.text {
            kept?.spellings["defaultValueString"] = nil
        }
        var attributes = ["name": attribute.name, "attributeType": attribute.type.modelText]
        if attribute.type == .undefined, let kept, kept.spellings["attributeType"] == nil { attributes["attributeType"] = nil }
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
        if kept == nil, attribute.type.mayBeScalar, !attribute.usesScalarValueType { attributes["usesScalarValueType"] = "NO" }
        attributes["composite"] = attribute.compositeName
        attributes["derivationExpression"] = attribute.derivationExpression
        attributes["valueTransformerName"] = attribute.valueTransformerName
        attributes["customClassName"] = attribute.valueClassName
        attributes["regularExpressionString"] = attribute.regularExpression
        attributes["elementID"] = attribute.renamingIdentifier
        attributes["versionHashModifier"] = attribute.versionHashModifier
        let isDate = attribute.type == .date
        attributes[isDate ? "minDateTimeInterval" : "minValueString"] = attribute.minimum.map(Self.text)
        attributes[isDate ? "maxDateTimeInterval" : "maxValueString"] = attribute.maximum.map(Self.text)
        if let text = DefaultValue.text(of: attribute) { attributes[isDate ? "defaultDateTimeInterval" : "defaultValueString"] = text }
        return WrittenElement(
            "attribute", merged(attributes, kept, by: .attribute), children: arranged(userInfo(attribute.userInfo, kept) + others(kept), like: kept))
    }

    func element(for relationship: Relationship, _ kept: ModelDocument.Kept?, isIndexed: Bool = false) -> WrittenElement {
        let wasIndexed = kept?.spellings["indexed"].flatMap(ElementReader.flag(from:)) == true
        if isIndexed == wasIndexed, let same = unchanged(kept, relationship, { $0.relationship($1, of: "").relationship }) { return same }
        var attributes = ["name": relationship.name, "destinationEntity": relationship.destination]
        func flag(_ name: String, _ value: Bool) { if value { attributes[name] = "YES" } }
        flag("indexed", isIndexed)
        flag("optional", relationship.isOptional)
        flag("transient", relationship.isTransient)
        flag("toMany", relationship.isToMany)
        flag("ordered", relationship.isOrdered)
        flag("spotlightIndexingEnabled", relationship.isIndexedBySpotlight)
        if relationship.minimumCount != 0 { attributes["minCount"] = "\(relationship.minimumCount)" }
        if relationship.isToMany ? relationship.maximumCount != 0 : kept == nil || kept?.spellings["maxCount"] != nil {
            attributes["maxCount"] = "\(relationship.maximumCount)"
        }
        if relationship.deleteRule != .nullify || kept == nil || kept?.spellings["deletionRule"] != nil {
            attributes["deletionRule"] = relationship.deleteRule.modelText
        }
        attributes["inverseName"] = relationship.inverse
        attributes["elementID"] = relationship.renamingIdentifier
        attributes["versionHashModifier"] = relationship.versionHashModifier
        var kept = kept
        let leadsWhereItDid =
            kept?.spellings["destinationEntity"] == relationship.destination && kept?.spellings["inverseName"] == relationship.inverse
        if !leadsWhereItDid || kept?.spellings["inverseEntity"] == nil {
            kept?.carried["inverseEntity"] = nil
            kept?.spellings["inverseEntity"] = nil
            if relationship.inverse != nil { attributes["inverseEntity"] = relationship.destination }
        }
        return WrittenElement(
            "relationship", merged(attributes, kept, by: .relationship),
            children: arranged(userInfo(relationship.userInfo, kept) + others(kept), like: kept))
    }

    /// A whole number without a fraction.
    static func text(_ number: Double) -> String { Int64(exactly: number).map { "\($0)" } ?? "\(number)" }

    // MARK: What a file cannot hold

    func unwritable() -> [ModelError.Problem] {
        var problems: [ModelError.Problem] = []
        if model.versionIdentifiers.count > 1 {
            problems.append(.init(entity: "the model", what: "has several version identifiers; a model file holds one"))
        }
        let owners = model.entities.map { ($0.name, $0.attributes) } + model.composites.map { ($0.name, $0.attributes) }
        for (owner, attributes) in owners {
            for attribute in attributes {
                if !attribute.defaultValue.isNull, DefaultValue.text(of: attribute) == nil {
                    problems.append(.init(entity: owner, property: attribute.name, what: "has a default value that a model file cannot hold"))
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

extension DefaultValue {
    /// - Returns: nil where there is no default value, or none that a model file can hold.
    static func text(of attribute: Attribute) -> String? {
        switch (attribute.type, attribute.defaultValue) {
        case (.boolean, .int(let value)): value != 0 ? "YES" : "NO"
        case (.integer16, .int(let value)), (.integer32, .int(let value)), (.integer64, .int(let value)): "\(value)"
        case (.double, .double(let value)) where value.isFinite: "\(value)"
        case (.float, .double(let value)) where Float(value).isFinite && Double(Float(value)) == value: "\(Float(value))"
        case (.decimal, .decimal(let value)) where !value.isNaN: fraction("\(value)")
        case (.string, .string(let value)): value
        case (.date, .date(let value)) where value.isFinite: ModelFileWriter.text(value)
        case (.uuid, .uuid(let value)): value.uuidString
        case (.uri, .url(let value)) where !value.isEmpty: value
        default: nil
        }
    }

    /// Xcode writes decimal numbers with a point.
    private static func fraction(_ text: String) -> String { text.contains(".") ? text : text + ".0" }
}
