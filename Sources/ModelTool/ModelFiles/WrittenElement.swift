// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ModelFile

/// An element of a model file that is being written.
struct WrittenElement {
    let name: String
    var attributes: [(name: String, value: String)] = []
    var text = ""
    var children: [WrittenElement] = []

    init(_ name: String, _ attributes: [(name: String, value: String)] = [], children: [WrittenElement] = []) {
        self.name = name
        self.attributes = attributes
        self.children = children
    }

    /// An element with its source unchanged.
    init(_ element: SourceElement) {
        self.init(
            element.name, AttributeOrder.of(element.name).sorted(element.attributes), children: element.children.map { WrittenElement($0) })
        text = element.text
    }

    /// Four spaces for each level, attributes on one line, as Xcode writes them.
    func lines(level: Int = 0) -> [String] {
        let indent = String(repeating: "    ", count: level)
        let start = attributes.reduce("\(indent)<\(name)") { "\($0) \($1.name)=\"\(Self.escaped($1.value))\"" }
        if children.isEmpty { return [text.isEmpty ? start + "/>" : "\(start)>\(Self.escaped(text))</\(name)>"] }
        let inner = (text.isEmpty ? [] : ["\(indent)    \(Self.escaped(text))"]) + children.flatMap { $0.lines(level: level + 1) }
        return ["\(start)>"] + inner + ["\(indent)</\(name)>"]
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n", "\r", "\t": result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether XML 1.0 can hold a text.
    static func canHold(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
            default: false
            }
        }
    }
}

/// The order in which Xcode writes the attributes of an element; others follow by name.
///
/// Source: `xcdatamodel-format` (observed over public model files).
struct AttributeOrder {
    let names: [String]

    func sorted(_ attributes: [String: String]) -> [(name: String, value: String)] {
        let known = names.compactMap { name in attributes[name].map { (name: name, value: $0) } }
        let others = attributes.filter { !names.contains($0.key) }.sorted { $0.key < $1.key }
        return known + others.map { (name: $0.key, value: $0.value) }
    }

    /// The order for the elements of a name. For the editor's own elements, names and positions come first.
    static func of(_ element: String) -> AttributeOrder {
        switch element {
        case "entity": entity
        case "attribute": attribute
        case "relationship": relationship
        case "fetchedProperty": fetchedProperty
        case "fetchRequest": fetchRequest
        case "fetchIndex": fetchIndex
        case "fetchIndexElement": indexElement
        case "configuration": configuration
        case "composite": composite
        default: self.element
        }
    }

    static let model = AttributeOrder(names: [
        "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage", "usedWithCloudKit",
        "usedWithSwiftData", "userDefinedModelVersionIdentifier",
    ])
    static let entity = AttributeOrder(names: [
        "name", "representedClassName", "parentEntity", "isAbstract", "elementID", "syncable", "versionHashModifier", "codeGenerationType",
        "coreSpotlightDisplayNameExpression",
    ])
    static let attribute = AttributeOrder(names: [
        "name", "optional", "transient", "attributeType", "composite", "minValueString", "maxValueString", "minDateTimeInterval",
        "maxDateTimeInterval", "defaultValueString", "defaultDateTimeInterval", "derived", "derivationExpression", "usesScalarValueType",
        "valueTransformerName", "customClassName", "regularExpressionString", "allowsExternalBinaryDataStorage", "allowsCloudEncryption",
        "preserveAfterDeletion", "spotlightIndexingEnabled", "indexed", "storedInTruthFile", "elementID", "versionHashModifier", "syncable",
    ])
    static let relationship = AttributeOrder(names: [
        "name", "optional", "transient", "toMany", "minCount", "maxCount", "deletionRule", "ordered", "destinationEntity", "inverseName",
        "inverseEntity", "spotlightIndexingEnabled", "indexed", "storedInTruthFile", "elementID", "versionHashModifier", "syncable",
    ])
    static let fetchedProperty = AttributeOrder(names: [
        "name", "optional", "transient", "spotlightIndexingEnabled", "elementID", "versionHashModifier", "syncable",
    ])
    static let fetchRequest = AttributeOrder(names: [
        "name", "entity", "predicateString", "fetchLimit", "fetchBatchSize", "resultType", "includeSubentities", "includePropertyValues",
        "includesPendingChanges", "returnObjectsAsFaults", "returnDistinctResults",
    ])
    static let fetchIndex = AttributeOrder(names: ["name", "partialIndexPredicate"])
    static let indexElement = AttributeOrder(names: ["property", "expression", "expressionType", "type", "order"])
    static let configuration = AttributeOrder(names: ["name", "usedWithCloudKit"])
    static let composite = AttributeOrder(names: ["name", "elementID", "versionHashModifier"])
    static let element = AttributeOrder(names: ["name", "positionX", "positionY", "width", "height", "key", "value"])
}
