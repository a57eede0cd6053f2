// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// An element of a model file without its layout; the order of attributes means nothing in XML.
struct ElementTree: Equatable, CustomStringConvertible {
    var name: String
    var attributes: [String: String] = [:]
    var children: [ElementTree] = []

    init(_ name: String, _ attributes: [String: String] = [:], _ children: [ElementTree] = []) {
        (self.name, self.attributes, self.children) = (name, attributes, children)
    }

    static func parse(_ text: String) throws -> ElementTree {
        let parser = XMLParser(data: Data(text.utf8))
        let builder = Builder()
        parser.delegate = builder
        guard parser.parse(), let root = builder.root else { throw CocoaError(.fileReadCorruptFile) }
        return root
    }

    var description: String { lines().joined(separator: "\n") }

    func lines(_ indent: String = "") -> [String] {
        let start =
            indent + "<"
            + ([name] + attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }).joined(separator: " ")
        if children.isEmpty { return [start + "/>"] }
        return [start + ">"] + children.flatMap { $0.lines(indent + "  ") } + ["\(indent)</\(name)>"]
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    private final class Builder: NSObject, XMLParserDelegate {
        var root: ElementTree?
        private var open: [ElementTree] = []

        func parser(_: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?, attributes: [String: String])
        {
            open.append(ElementTree(name, attributes))
        }

        func parser(_: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            guard let element = open.popLast() else { return }
            if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
        }
    }
}

/// Valid model files in any of the forms that the editor's versions wrote, in any order, with unknown parts.
struct RandomTree {
    private var random: RandomSource
    private var names = 0

    static func make(seed: UInt64) -> ElementTree {
        var maker = RandomTree(random: RandomSource(seed: seed))
        return maker.model()
    }

    private mutating func fresh(_ prefix: String) -> String {
        names += 1
        return "\(prefix)\(names)"
    }

    private mutating func add(_ choices: (String, [String])..., to attributes: inout [String: String]) {
        for (name, values) in choices where random.one(in: 3) { attributes[name] = random.pick(values) }
    }

    private mutating func model() -> ElementTree {
        var attributes = ["type": "com.apple.IDECoreDataModeler.DataModel"]
        add(
            ("userDefinedModelVersionIdentifier", ["", "2"]), ("lastSavedToolsVersion", ["1810"]),
            ("minimumToolsVersion", ["Automatic", "Xcode 4.3"]),
            ("macOSVersion", ["Automatic"]), ("name", [""]), ("usedWithCloudKit", ["YES", "NO", "true", "false"]), ("future", ["1"]),
            to: &attributes)
        let entities = (0..<Int.random(in: 1...4, using: &random)).map { _ in fresh("E") }
        var children = entities.map { entity($0, others: entities) }
        if random.one(in: 2) {
            children.append(
                ElementTree(
                    "configuration", ["name": "Cloud"].merging(random.one(in: 2) ? ["usedWithCloudKit": "YES"] : [:]) { $1 },
                    entities.filter { _ in random.one(in: 2) }.map { ElementTree("memberEntity", ["name": $0]) }))
        }
        if random.one(in: 3) {
            let flag = random.pick([["usedWithCloudKit": "YES"], ["usedWithCloudKit": "NO"], [:]])
            children.append(ElementTree("configuration", ["name": "Default"].merging(flag) { $1 }))
        }
        if random.one(in: 3) { children.append(request(fresh("R"), entities[0])) }
        if random.one(in: 3) {
            children.append(ElementTree("composite", ["name": fresh("C")], (0..<2).map { _ in attribute(fresh("c")) }))
        }
        if random.one(in: 2) {
            let elements = entities.filter { _ in !random.one(in: 4) }.map {
                ElementTree("element", ["name": $0, "positionX": "-63", "positionY": "9", "width": "128", "height": "44"])
            }
            children.append(ElementTree("elements", [:], elements))
        }
        if random.one(in: 6) { children.append(ElementTree("surprise", ["a": "<&\">"], [ElementTree("inner")])) }
        return ElementTree("model", attributes, children.shuffled(using: &random))
    }

    private mutating func request(_ name: String, _ entity: String) -> ElementTree {
        var attributes = ["name": name, "entity": entity]
        add(
            ("predicateString", ["TRUEPREDICATE", ""]), ("fetchLimit", ["0", "5"]), ("fetchBatchSize", ["20"]),
            ("resultType", ["0", "1", "2"]),
            ("includeSubentities", ["YES", "NO"]), ("returnDistinctResults", ["YES", "NO"]), to: &attributes)
        return ElementTree("fetchRequest", attributes)
    }

    private mutating func entity(_ name: String, others: [String]) -> ElementTree {
        var attributes = ["name": name]
        add(
            ("representedClassName", ["NSManagedObject", ".\(name)", "Shop.\(name)", name, ""]), ("syncable", ["YES", "NO"]),
            ("isAbstract", ["NO"]), ("codeGenerationType", ["class", "category"]), ("elementID", ["old\(name)", ""]),
            ("versionHashModifier", ["2", ""]), ("weather", ["fine"]), to: &attributes)
        let own = (0..<Int.random(in: 1...4, using: &random)).map { _ in fresh("a") }
        var children = own.map { attribute($0) }
        let relationship = fresh("r")
        if random.one(in: 2) { children.append(self.relationship(relationship, random.pick(others))) }
        if random.one(in: 4) {
            let name = fresh("f")
            children.append(
                ElementTree(
                    "fetchedProperty", ["name": name, "optional": "YES"], [request("fetchedPropertyFetchRequest", random.pick(others))]))
        }
        if random.one(in: 3) {
            children.append(
                ElementTree(
                    "compoundIndexes", [:],
                    (0..<Int.random(in: 0...2, using: &random)).map { _ in
                        ElementTree("compoundIndex", [:], own.map { ElementTree("index", ["value": $0]) })
                    }))
        }
        if random.one(in: 3) {
            var element = ["property": own[0]]
            add(("type", ["Binary"]), ("order", ["ascending", "descending"]), ("shape", ["round"]), to: &element)
            children.append(ElementTree("fetchIndex", ["name": fresh("by")], [ElementTree("fetchIndexElement", element)]))
        }
        if random.one(in: 3) {
            let constraints =
                random.one(in: 3) ? [] : [ElementTree("uniquenessConstraint", [:], [ElementTree("constraint", ["value": own[0]])])]
            children.append(ElementTree("uniquenessConstraints", [:], constraints))
        }
        if random.one(in: 3) { children.append(userInfo()) }
        if random.one(in: 6) { children.append(ElementTree("note")) }
        return ElementTree("entity", attributes, children.shuffled(using: &random))
    }

    private mutating func userInfo() -> ElementTree {
        ElementTree(
            "userInfo", [:],
            (0..<Int.random(in: 0...3, using: &random)).map { _ in
                ElementTree(
                    "entry", ["key": fresh("k")].merging(random.one(in: 4) ? [:] : ["value": random.pick(["", "v", "a & b"])]) { $1 })
            })
    }

    private mutating func attribute(_ name: String) -> ElementTree {
        var attributes = ["name": name]
        let type = random.pick([
            "String", "Integer 16", "Integer 64", "Boolean", "Double", "Decimal", "Date", "Binary", "Transformable", "UUID", "URI", "",
        ])
        if type.isEmpty { attributes["transient"] = "YES" } else { attributes["attributeType"] = type }
        add(
            ("optional", ["YES", "NO", "true"]), ("indexed", ["YES", "NO"]), ("syncable", ["YES"]), ("elementID", ["", "old\(name)"]),
            ("usesScalarValueType", ["YES", "NO"]), ("preserveAfterDeletion", ["YES"]), ("storedInTruthFile", ["YES", "NO"]),
            ("odd", ["?"]),
            ("customClassName", [".NSArray", "[String]", "NSArray.", ""]), ("valueTransformerName", ["", "T"]), to: &attributes)
        let defaults = [
            "String": ["", "x", "NO"], "Integer 16": ["NO", "0", "0.0", "7"], "Integer 64": ["YES", "-1"],
            "Boolean": ["YES", "NO", "0", "1", "true"],
            "Double": ["0.0", "0", "1.50", "NO"], "Decimal": ["0.0", "12"],
        ]
        if let choices = defaults[type], random.one(in: 2) { attributes["defaultValueString"] = random.pick(choices) }
        if type == "Date", random.one(in: 2) { attributes["defaultDateTimeInterval"] = random.pick(["0", "538862400"]) }
        return ElementTree("attribute", attributes, random.one(in: 5) ? [userInfo()] : [])
    }

    private mutating func relationship(_ name: String, _ destination: String) -> ElementTree {
        var attributes = ["name": name, "destinationEntity": destination]
        if random.one(in: 2) { attributes["toMany"] = "YES" } else { add(("maxCount", ["1"]), ("minCount", ["0", "1"]), to: &attributes) }
        add(
            ("optional", ["YES", "NO"]), ("indexed", ["YES", "NO"]), ("deletionRule", ["Nullify", "Cascade", "Deny", "No Action"]),
            ("syncable", ["YES"]), ("elementID", [""]), ("odd", ["?"]), to: &attributes)
        return ElementTree("relationship", attributes, random.one(in: 5) ? [userInfo()] : [])
    }
}
