// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The model that Apple's framework stores for its own migrations, as far as its archive can be read.
///
/// Omitted: validation rules, fetched properties, expressions of derived attributes, configurations and request
/// templates. None of them affects how rows are read.
///
/// Source: observed in stores of public test suites with public models (framework versions 1044 to 1344).
struct ArchivedModel {
    private let archive: KeyedArchive

    /// - Returns: nil if the content isn't an archived model of a known form.
    static func model(in content: Data) -> Model? {
        guard let archive = KeyedArchive(deflated: content), let root = archive.root,
            archive.className(root) == "NSManagedObjectModel"
        else { return nil }
        return ArchivedModel(archive: archive).model(root)
    }

    private func model(_ root: [String: Int]) -> Model? {
        let declared = maps(elements(archive.map(root, "NSEntities")))
        guard !declared.isEmpty, declared.count <= StoreOutline.entitiesMax else { return nil }
        var model = Model()
        for object in declared {
            guard let entity = entity(object) else { return nil }
            model.entities.append(entity)
        }
        model.versionIdentifiers = texts(archive.members(archive.map(root, "NSVersionIdentifiers"))).filter { !$0.isEmpty }.sorted()
        return model
    }

    private func entity(_ object: [String: Int]) -> Entity? {
        guard let name = archive.text(object, "NSEntityName") else { return nil }
        let parent = archive.map(object, "NSSuperentity")
        var entity = Entity(name: name, superentity: parent.flatMap { archive.text($0, "NSEntityName") })
        entity.className = archive.text(object, "NSClassNameForEntity") ?? entity.className
        entity.isAbstract = archive.bool(object, "NSIsAbstract")
        entity.renamingIdentifier = renaming(object, name)
        entity.versionHashModifier = archive.text(object, "NSVersionHashModifier")
        entity.userInfo = userInfo(object)
        // An entity has copies of its inherited properties.
        let inherited = Set(properties(parent).map(\.name))
        for (property, name) in properties(object) where !inherited.contains(name) {
            switch archive.className(property) {
            case "NSAttributeDescription", "NSDerivedAttributeDescription":
                guard let attribute = attribute(property, name) else { return nil }
                entity.attributes.append(attribute)
            case "NSRelationshipDescription":
                guard let relationship = relationship(property, name) else { return nil }
                entity.relationships.append(relationship)
            case "NSFetchedPropertyDescription": continue
            default: return nil
            }
        }
        entity.attributes.sort { $0.name < $1.name }
        entity.relationships.sort { $0.name < $1.name }
        entity.uniquenessConstraints = archive.members(archive.map(object, "NSUniqueTuples")).compactMap { value in
            guard case .map(let tuple) = value else { return nil }
            let names = texts(archive.members(tuple))
            return names.isEmpty ? nil : names
        }
        entity.indexes = maps(archive.members(archive.map(object, "NSFetchIndexDescriptions"))).compactMap(index)
        return entity
    }

    private func properties(_ entity: [String: Int]?) -> [(object: [String: Int], name: String)] {
        guard let entity else { return [] }
        return maps(elements(archive.map(entity, "NSProperties"))).compactMap { object in
            archive.text(object, "NSPropertyName").map { (object, $0) }
        }
    }

    // MARK: Properties

    private func attribute(_ object: [String: Int], _ name: String) -> Attribute? {
        guard let type = archive.int(object, "NSAttributeType").flatMap({ AttributeType(rawValue: Int($0)) }) else { return nil }
        var attribute = Attribute(name: name, type: type, isOptional: archive.bool(object, "NSIsOptional"))
        attribute.isTransient = archive.bool(object, "NSIsTransient")
        attribute.defaultValue = defaultValue(object, type)
        attribute.preservesValueInHistoryOnDeletion = (archive.int(object, "NSFlagsKey") ?? 0) & 16 != 0
        if type == .transformable {
            attribute.valueTransformerName = archive.text(object, "NSValueTransformerName")
            attribute.valueClassName = archive.text(object, "NSAttributeValueClassName")
        }
        attribute.renamingIdentifier = renaming(object, name)
        attribute.versionHashModifier = archive.text(object, "NSVersionHashModifier")
        attribute.userInfo = userInfo(object)
        return attribute
    }

    private func defaultValue(_ object: [String: Int], _ type: AttributeType) -> StoredValue {
        switch (type, archive.value(object, "NSDefaultValue")) {
        case (.integer16, .int(let number)), (.integer32, .int(let number)), (.integer64, .int(let number)): .int(number)
        case (.boolean, .bool(let flag)): .int(flag ? 1 : 0)
        case (.boolean, .int(let number)): .int(number == 0 ? 0 : 1)
        case (.double, .double(let number)), (.float, .double(let number)): .double(number)
        case (.double, .int(let number)), (.float, .int(let number)): .double(Double(number))
        case (.string, .text(let text)): .string(text)
        case (.date, .map(let date)):
            if case .double(let seconds) = archive.value(date, "NS.time") { .date(seconds) } else { .null }
        default: .null
        }
    }

    private func relationship(_ object: [String: Int], _ name: String) -> Relationship? {
        guard let destination = archive.text(object, "_NSDestinationEntityName") else { return nil }
        let maximum = archive.int(object, "NSMaxCount") ?? 0
        var relationship = Relationship(
            name: name, destination: destination, inverse: archive.text(object, "_NSInverseRelationshipName"), isToMany: maximum != 1,
            isOrdered: archive.bool(object, "NSIsOrdered"), isOptional: archive.bool(object, "NSIsOptional"),
            deleteRule: archive.int(object, "NSDeleteRule").flatMap { DeleteRule(rawValue: Int($0)) } ?? .nullify)
        // -1, written as an archive's 64 bits, means unbounded, as 0 does.
        relationship.maximumCount = Int(max(0, maximum))
        relationship.minimumCount = Int(max(0, archive.int(object, "NSMinCount") ?? 0))
        relationship.isTransient = archive.bool(object, "NSIsTransient")
        relationship.renamingIdentifier = renaming(object, name)
        relationship.versionHashModifier = archive.text(object, "NSVersionHashModifier")
        relationship.userInfo = userInfo(object)
        return relationship
    }

    private func index(_ object: [String: Int]) -> FetchIndex? {
        guard let name = archive.text(object, "NSIndexName") else { return nil }
        let elements = maps(archive.members(archive.map(object, "NSIndexElements")))
        return FetchIndex(
            name: name,
            elements: elements.map { element in
                FetchIndex.Element(
                    property: archive.text(element, "NSPropertyName") ?? "", isAscending: archive.bool(element, "NSAscending"),
                    isRTree: archive.int(element, "NSFetchIndexElementType") == 1)
            })
    }

    // MARK: Parts

    /// The values of a dictionary of either class used in archives: one lists its values separately from its keys.
    private func elements(_ dictionary: [String: Int]?) -> [KeyedArchive.Value] {
        guard let dictionary else { return [] }
        return dictionary["values"] == nil ? archive.members(dictionary) : archive.members(archive.map(dictionary, "values"))
    }

    private func maps(_ values: [KeyedArchive.Value]) -> [[String: Int]] {
        values.compactMap { if case .map(let map) = $0 { map } else { nil } }
    }

    private func texts(_ values: [KeyedArchive.Value]) -> [String] {
        values.compactMap { if case .text(let text) = $0 { text } else { nil } }
    }

    /// The archive has the name itself if the model sets no renaming identifier.
    private func renaming(_ object: [String: Int], _ name: String) -> String? {
        archive.text(object, "NSRenamingIdentifier").flatMap { $0 == name ? nil : $0 }
    }

    private func userInfo(_ object: [String: Int]) -> [String: String] {
        guard let dictionary = archive.map(object, "NSUserInfo") else { return [:] }
        let (keys, values) = (archive.members(dictionary, "NS.keys"), archive.members(dictionary))
        var info: [String: String] = [:]
        for case (.text(let key), .text(let value)) in zip(keys, values) { info[key] = value }
        return info
    }
}
