// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// The names of a compiled model's fields. A name is never reused.

extension Model: SparselyCoded {
    package static let blank = Model()
    package static let fields: [CodedField<Model>] = [
        .init(required: "entities", \.entities),
        .init("configurations", \.configurations),
        .init("cloudConfigurations", \.cloudConfigurations),
        .init("versionIdentifiers", \.versionIdentifiers),
        .init("fetchTemplates", \.fetchTemplates),
        .init("composites", \.composites),
    ]
}

extension Entity: SparselyCoded {
    package static let blank = Entity(name: "")
    package static let fields: [CodedField<Entity>] = [
        .init(required: "name", \.name),
        .init("className", \.className),
        .init("classModule", \.classModule),
        .init("superentity", \.superentity),
        .init("isAbstract", \.isAbstract),
        .init("attributes", \.attributes),
        .init("relationships", \.relationships),
        .init("fetchedProperties", \.fetchedProperties),
        .init("indexes", \.indexes),
        .init("uniquenessConstraints", \.uniquenessConstraints),
        .init("userInfo", \.userInfo),
        .init("renamingIdentifier", \.renamingIdentifier),
        .init("versionHashModifier", \.versionHashModifier),
        .init("spotlightDisplayNameExpression", \.spotlightDisplayNameExpression),
        .init("codeGeneration", \.codeGeneration),
    ]
}

extension Attribute: SparselyCoded {
    package static let blank = Attribute(name: "", type: .undefined)
    package static let fields: [CodedField<Attribute>] = [
        .init(required: "name", \.name),
        .init(required: "type", \.type),
        .init("isOptional", \.isOptional),
        .init("isTransient", \.isTransient),
        .init("defaultValue", \.defaultValue),
        .init("minimum", \.minimum),
        .init("maximum", \.maximum),
        .init("regularExpression", \.regularExpression),
        .init("allowsExternalBinaryDataStorage", \.allowsExternalBinaryDataStorage),
        .init("allowsCloudEncryption", \.allowsCloudEncryption),
        .init("preservesValueInHistoryOnDeletion", \.preservesValueInHistoryOnDeletion),
        .init("usesScalarValueType", \.usesScalarValueType),
        .init("valueTransformerName", \.valueTransformerName),
        .init("valueClassName", \.valueClassName),
        .init("derivationExpression", \.derivationExpression),
        .init("compositeName", \.compositeName),
        .init("elements", \.elements),
        .init("isIndexedBySpotlight", \.isIndexedBySpotlight),
        .init("userInfo", \.userInfo),
        .init("renamingIdentifier", \.renamingIdentifier),
        .init("versionHashModifier", \.versionHashModifier),
    ]
}

extension Relationship: SparselyCoded {
    package static let blank = Relationship(name: "", destination: "")
    package static let fields: [CodedField<Relationship>] = [
        .init(required: "name", \.name),
        .init(required: "destination", \.destination),
        .init("inverse", \.inverse),
        .init("isOptional", \.isOptional),
        .init("isToMany", \.isToMany),
        .init("isOrdered", \.isOrdered),
        .init("minimumCount", \.minimumCount),
        .init("maximumCount", \.maximumCount),
        .init("deleteRule", \.deleteRule),
        .init("isTransient", \.isTransient),
        .init("isIndexedBySpotlight", \.isIndexedBySpotlight),
        .init("userInfo", \.userInfo),
        .init("renamingIdentifier", \.renamingIdentifier),
        .init("versionHashModifier", \.versionHashModifier),
    ]
}

extension FetchIndex: SparselyCoded {
    package static let blank = FetchIndex(name: "", elements: [])
    package static let fields: [CodedField<FetchIndex>] = [
        .init(required: "name", \.name),
        .init(required: "elements", \.elements),
        .init("partialPredicateFormat", \.partialPredicateFormat),
    ]
}

extension FetchIndex.Element: SparselyCoded {
    package static let blank = FetchIndex.Element(property: "")
    package static let fields: [CodedField<FetchIndex.Element>] = [
        .init(required: "property", \.property),
        .init("isAscending", \.isAscending),
        .init("isRTree", \.isRTree),
        .init("expression", \.expressionFormat),
        .init("expressionType", \.expressionType),
    ]
}

extension FetchTemplate: SparselyCoded {
    package static let blank = FetchTemplate(name: "", entity: "")
    package static let fields: [CodedField<FetchTemplate>] = [
        .init(required: "name", \.name),
        .init(required: "entity", \.entity),
        .init("predicateFormat", \.predicateFormat),
        .init("fetchLimit", \.fetchLimit),
        .init("fetchBatchSize", \.fetchBatchSize),
        .init("resultType", \.resultType),
        .init("includesSubentities", \.includesSubentities),
        .init("includesPropertyValues", \.includesPropertyValues),
        .init("includesPendingChanges", \.includesPendingChanges),
        .init("returnsObjectsAsFaults", \.returnsObjectsAsFaults),
        .init("returnsDistinctResults", \.returnsDistinctResults),
    ]
}

extension FetchedProperty: SparselyCoded {
    package static let blank = FetchedProperty(name: "", request: .blank)
    package static let fields: [CodedField<FetchedProperty>] = [
        .init(required: "name", \.name),
        .init(required: "request", \.request),
        .init("isOptional", \.isOptional),
        .init("userInfo", \.userInfo),
        .init("renamingIdentifier", \.renamingIdentifier),
        .init("versionHashModifier", \.versionHashModifier),
    ]
}

extension Composite: SparselyCoded {
    package static let blank = Composite(name: "")
    package static let fields: [CodedField<Composite>] = [
        .init(required: "name", \.name),
        .init(required: "attributes", \.attributes),
    ]
}
