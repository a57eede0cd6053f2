// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

extension ModelReader {
    /// - Returns: The attribute, and whether an old file asks for an index on it.
    package mutating func attribute(
        _ element: SourceElement, of owner: String, in namespace: ModelDocument.Namespace = .entities
    ) -> (attribute: Attribute, isIndexed: Bool) {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: "\(owner).\(name)", in: namespace)
        reader.ignore("name", "syncable", "storedInTruthFile")
        let isTransient = reader.flag("transient")
        let type = attributeType(&reader, isTransient: isTransient)

        var attribute = Attribute(name: name, type: type ?? .undefined, isOptional: reader.flag("optional"))
        attribute.isTransient = isTransient
        attribute.usesScalarValueType = reader.flag("usesScalarValueType")
        attribute.allowsExternalBinaryDataStorage = reader.flag("allowsExternalBinaryDataStorage")
        attribute.allowsCloudEncryption = reader.flag("allowsCloudEncryption")
        attribute.preservesValueInHistoryOnDeletion = reader.flag("preserveAfterDeletion")
        attribute.isIndexedBySpotlight = reader.flag("spotlightIndexingEnabled")
        attribute.valueTransformerName = reader.name("valueTransformerName")
        attribute.valueClassName = reader.name("customClassName").flatMap { spelling in
            let name = Self.valueClass(spelling)
            if name == nil { reader.warning("has the class '\(spelling)', which isn't a Swift type; NSObject is used instead") }
            return name
        }
        attribute.regularExpression = reader.name("regularExpressionString")
        attribute.compositeName = reader.name("composite")
        attribute.renamingIdentifier = reader.name("elementID", "renamingIdentifier")
        attribute.versionHashModifier = reader.name("versionHashModifier")
        attribute.userInfo = reader.userInfo()
        bounds(&reader, of: &attribute)
        derivation(&reader, of: &attribute)
        defaultValue(&reader, of: &attribute, typeIsKnown: type != nil)

        if reader.flag("storedInTruthFile") { reader.notSupported("has its value in an external record file") }
        let isIndexed = reader.flag("indexed")
        close(reader)
        return (attribute, isIndexed)
    }

    package mutating func relationship(_ element: SourceElement, of owner: String) -> (
        relationship: Relationship, isIndexed: Bool
    ) {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: "\(owner).\(name)")
        // The inverse is looked up on the destination, which has all properties of its ancestors.
        reader.ignore("name", "syncable", "inverseEntity", "storedInTruthFile")
        let isToMany = reader.flag("toMany")
        var relationship = Relationship(
            name: name, destination: reader.name("destinationEntity") ?? "", inverse: reader.name("inverseName"),
            isToMany: isToMany, isOrdered: reader.flag("ordered"), isOptional: reader.flag("optional"),
            deleteRule: deleteRule(&reader))
        relationship.minimumCount = reader.count("minCount") ?? 0
        relationship.maximumCount = reader.count("maxCount") ?? (isToMany ? 0 : 1)
        if !isToMany, relationship.maximumCount != 1 {
            reader.warning("is to-one and ignores its maxCount")
            relationship.maximumCount = 1
        }
        relationship.isTransient = reader.flag("transient")
        relationship.isIndexedBySpotlight = reader.flag("spotlightIndexingEnabled")
        relationship.renamingIdentifier = reader.name("elementID", "renamingIdentifier")
        relationship.versionHashModifier = reader.name("versionHashModifier")
        relationship.userInfo = reader.userInfo()
        if reader.flag("storedInTruthFile") { reader.notSupported("has its value in an external record file") }
        let isIndexed = reader.flag("indexed")
        close(reader)
        return (relationship, isIndexed)
    }

    package mutating func fetchedProperty(_ element: SourceElement, of owner: String) -> FetchedProperty? {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: "\(owner).\(name)")
        reader.ignore("name", "syncable", "spotlightIndexingEnabled", "transient")
        let isOptional = reader.flag("optional")
        let userInfo = reader.userInfo()
        let renamingIdentifier = reader.name("elementID", "renamingIdentifier")
        let versionHashModifier = reader.name("versionHashModifier")
        let requests = reader.children("fetchRequest")
        if requests.count != 1 {
            reader.error("is a fetched property with \(requests.count) fetch requests instead of one")
        }
        close(reader)
        guard let request = requests.first else { return nil }
        var property = FetchedProperty(
            name: name, request: template(request, as: "\(owner).\(name)", in: .fetchedRequests), isOptional: isOptional)
        property.userInfo = userInfo
        property.renamingIdentifier = renamingIdentifier
        property.versionHashModifier = versionHashModifier
        return property
    }

    // MARK: Parts of an attribute

    private func attributeType(_ reader: inout ElementReader, isTransient: Bool) -> AttributeType? {
        guard let text = reader.name("attributeType") else {
            // Xcode leaves the type of a transient attribute out where none was chosen.
            if isTransient { return .undefined }
            reader.error("has no attribute type; only a transient attribute may have none")
            return nil
        }
        guard let type = AttributeType(modelText: text) else {
            reader.error("has an unknown attribute type '\(text)'")
            return nil
        }
        if type == .undefined || type == .objectID {
            if !isTransient { reader.error("has the type \(text), which only a transient attribute may have") }
        }
        return type
    }

    private func bounds(_ reader: inout ElementReader, of attribute: inout Attribute) {
        if attribute.type == .date {
            attribute.minimum = reader.number("minDateTimeInterval")
            attribute.maximum = reader.number("maxDateTimeInterval")
            for name in ["minValueString", "maxValueString"] {
                reader.ignore(name)
                if reader.name(name) != nil { reader.notSupported("has a \(name), which is ignored for a date") }
            }
        } else {
            attribute.minimum = reader.number("minValueString")
            attribute.maximum = reader.number("maxValueString")
        }
        if let minimum = attribute.minimum, let maximum = attribute.maximum, minimum > maximum {
            reader.error("has a minimum above its maximum")
        }
    }

    private func derivation(_ reader: inout ElementReader, of attribute: inout Attribute) {
        let isDerived = reader.flag("derived")
        let expression = reader.name("derivationExpression")
        if isDerived, expression == nil { reader.error("is derived and has no derivation expression") }
        if isDerived { attribute.derivationExpression = expression }
    }

    private func defaultValue(_ reader: inout ElementReader, of attribute: inout Attribute, typeIsKnown: Bool) {
        let text = reader.text("defaultValueString")
        let date = reader.number("defaultDateTimeInterval")
        guard typeIsKnown else { return }
        if attribute.type == .date {
            reader.ignore("defaultValueString")
            attribute.defaultValue = date.map { .date($0) } ?? .null
            if text != nil { reader.notSupported("has a date as text for its default value, which is ignored") }
            return
        }
        guard let text else { return }
        switch DefaultValue.parse(text, as: attribute.type) {
        case .value(let value): attribute.defaultValue = value
        case .converted(let value, let expected):
            attribute.defaultValue = value
            let used = DefaultValue.text(of: attribute) ?? "none"
            reader.warning("has the default value '\(text)'; expected \(expected), \(used) is used")
        case .malformed(let expected): reader.error("has the default value '\(text)'; expected \(expected)")
        case .unsupported:
            reader.ignore("defaultValueString")
            reader.notSupported("has a default value that an attribute of its type cannot have; it is ignored")
        }
    }

    private func deleteRule(_ reader: inout ElementReader) -> DeleteRule {
        switch reader.name("deletionRule") {
        case nil, "Nullify": return .nullify
        case "Cascade": return .cascade
        case "Deny": return .deny
        case "No Action": return .noAction
        case .some(let text):
            reader.error("has an unknown delete rule '\(text)'")
            return .nullify
        }
    }
}
