// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelFile

// An element is written unchanged if reading it gives the part that is to be written.

extension ModelFileWriter {
    /// The element that a part was read from, where reading it gives the part.
    func unchanged<Part: Equatable>(
        _ form: ModelDocument.SourceForm?, _ part: Part, _ read: (inout ModelReader, SourceElement) -> Part
    ) -> WrittenElement? {
        guard let source = form?.source else { return nil }
        var reader = ModelReader(file: "", module: document.module)
        return read(&reader, source) == part ? WrittenElement(source) : nil
    }

    /// Children in the order of the file they come from. New ones stand behind those of their kind with lesser names.
    func arranged(_ children: [WrittenElement], like form: ModelDocument.SourceForm?) -> [WrittenElement] {
        guard let source = form?.source else { return children }
        var indices: [ElementKey: [Int]] = [:]
        for (index, child) in source.children.enumerated().reversed() { indices[ElementKey(child), default: []].append(index) }
        var ordered: [(index: Int, element: WrittenElement)] = []
        var added: [WrittenElement] = []
        for child in children {
            if let index = indices[ElementKey(child)]?.popLast() { ordered.append((index, child)) } else { added.append(child) }
        }
        // A list that was empty says as much as none, and stays.
        for (index, child) in source.children.enumerated()
        where Self.lists.contains(child.name) && child.children.isEmpty && indices[ElementKey(child)]?.contains(index) == true {
            ordered.append((index, WrittenElement(child)))
        }
        var result = ordered.sorted { $0.index < $1.index }.map(\.element)
        for child in added {
            let rank = Self.kinds.firstIndex(of: child.name) ?? Self.kinds.count
            let before = result.lastIndex { other in
                let otherRank = Self.kinds.firstIndex(of: other.name) ?? Self.kinds.count
                return otherRank < rank || otherRank == rank && other.label <= child.label
            }
            result.insert(child, at: before.map { $0 + 1 } ?? 0)
        }
        return result
    }

    /// Indexes that the file asks for in the form of before indexes had elements of their own, and that the entity still has.
    func legacyIndexes(of entity: Entity) -> LegacyIndexes {
        guard let source = document.sourceForm(of: entity.name)?.source else { return LegacyIndexes() }
        var result = LegacyIndexes()
        let reader = ModelReader(file: "", module: document.module)
        let names = Set(entity.attributes.map(\.name) + entity.relationships.map(\.name))
        for child in source.children where child.name == "attribute" || child.name == "relationship" {
            guard let name = child.attributes["name"], names.contains(name),
                child.attributes["indexed"].flatMap(ElementReader.flag(from:)) == true
            else { continue }
            let index = reader.legacyIndex(on: name)
            if entity.indexes.contains(index) { result.properties[name] = index }
        }
        var elements = ElementReader(source, subject: "", namespace: .entities)
        let compounds = reader.compoundIndexes(&elements)
        if !compounds.isEmpty, compounds.allSatisfy(entity.indexes.contains) {
            result.compounds = compounds
            result.compoundElements = elements.children("compoundIndexes").map { WrittenElement($0) }
        }
        return result
    }

    private static let lists: Set = ["userInfo", "uniquenessConstraints", "compoundIndexes", "elements"]

    /// The order in which Xcode writes the children of an element.
    private static let kinds = [
        "attribute", "relationship", "fetchedProperty", "compoundIndexes", "fetchIndex", "uniquenessConstraints", "entity", "fetchRequest",
        "configuration", "composite", "userInfo", "elements",
    ]
}

/// An entity's indexes in the older form of the file.
struct LegacyIndexes {
    /// By the property that is marked as indexed.
    var properties: [String: FetchIndex] = [:]
    var compounds: [FetchIndex] = []
    var compoundElements: [WrittenElement] = []

    func contains(_ index: FetchIndex) -> Bool { properties.values.contains(index) || compounds.contains(index) }
}

/// Identifies a child in another version of its parent.
private struct ElementKey: Hashable {
    let kind: String
    let name: String?

    init(_ element: SourceElement) { (kind, name) = (element.name, element.attributes["name"]) }
    init(_ element: WrittenElement) { (kind, name) = (element.name, element.attributes.first { $0.name == "name" }?.value) }
}

extension WrittenElement {
    fileprivate var label: String { attributes.first { $0.name == "name" }?.value ?? "" }
}
