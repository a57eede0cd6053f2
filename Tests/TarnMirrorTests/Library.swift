// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel

/// A model with each attribute type and each shape of relationship, and its objects as text.
enum Library {
    static var model: Model {
        Model(entities: [
            Entity(
                name: "Book",
                attributes: [
                    Attribute(name: "title", type: .string), Attribute(name: "summary", type: .string),
                    Attribute(name: "pages", type: .integer32, isOptional: false, defaultValue: .int(0)),
                ],
                relationships: [
                    Relationship(name: "notes", destination: "Note", inverse: "book", isToMany: true, deleteRule: .cascade),
                    Relationship(name: "tags", destination: "Tag", inverse: "books", isToMany: true),
                ]),
            Entity(
                name: "Tag", attributes: [Attribute(name: "title", type: .string)],
                relationships: [Relationship(name: "books", destination: "Book", inverse: "tags", isToMany: true)]),
            Entity(
                name: "Note", attributes: [Attribute(name: "title", type: .string), Attribute(name: "scan", type: .binaryData)],
                relationships: [
                    Relationship(name: "book", destination: "Book", inverse: "notes"),
                    Relationship(name: "cover", destination: "Cover", inverse: "note"),
                ]),
            Entity(
                name: "Cover", attributes: [Attribute(name: "title", type: .string)],
                relationships: [Relationship(name: "note", destination: "Note", inverse: "cover")]),
            Entity(
                name: "Reader", attributes: [Attribute(name: "title", type: .string)],
                relationships: [Relationship(name: "friends", destination: "Reader", inverse: "friends", isToMany: true)]),
            Entity(name: "Novel", superentity: "Book", attributes: [Attribute(name: "genre", type: .string)]),
            Entity(
                name: "Sample",
                attributes: sampleTypes.map { Attribute(name: $0.name, type: $0.type) } + [Attribute(name: "title", type: .string)]),
        ])
    }

    static let sampleTypes: [(name: String, type: AttributeType)] = [
        ("small", .integer16), ("medium", .integer32), ("large", .integer64), ("flag", .boolean), ("double", .double), ("float", .float),
        ("decimal", .decimal), ("text", .string), ("date", .date), ("bytes", .binaryData), ("uuid", .uuid), ("link", .uri),
    ]

    private static let entities = ["Book", "Tag", "Note", "Cover", "Reader", "Sample"]

    /// All objects in a form that does not depend on the device.
    static func dump(_ context: NSManagedObjectContext) throws -> String {
        try entities.flatMap { try context.all($0).map { line($0) } }.sorted().joined(separator: "\n")
    }

    /// One object as a line: its values, and its related objects by their titles.
    private static func line(_ object: NSManagedObject) -> String {
        var parts = [object.entity.name ?? "?"]
        for name in object.entity.attributesByName.keys.sorted() {
            switch object.value(forKey: name) {
            case let text as String: parts.append("\(name) \(text.count > 60 ? "…\(text.count)" : text)")
            case let data as Data: parts.append("\(name) <\(data.count):\(data.reduce(0) { ($0 + Int($1)) % 997 })>")
            case let date as Date: parts.append("\(name) @\(date.timeIntervalSinceReferenceDate)")
            case let value?: parts.append("\(name) \(value)")
            case nil: break
            }
        }
        for name in object.entity.relationshipsByName.keys.sorted() {
            if let one = object.value(forKey: name) as? NSManagedObject { parts.append("\(name) → \(title(one))") }
            if let many = object.value(forKey: name) as? Set<NSManagedObject>, !many.isEmpty {
                parts.append("\(name) \(many.map { title($0) }.sorted())")
            }
        }
        return parts.joined(separator: "  ")
    }

    private static func title(_ object: NSManagedObject) -> String { object.value(forKey: "title") as? String ?? "–" }
}

extension NSManagedObjectContext {
    func all(_ entity: String) throws -> [NSManagedObject] { try fetch(NSFetchRequest<NSManagedObject>(entityName: entity)) }

    /// - Throws: An error for a title that no object has.
    func object(_ entity: String, _ title: String) throws -> NSManagedObject {
        guard let object = try all(entity).first(where: { $0.value(forKey: "title") as? String == title }) else {
            throw CocoaError(.validationMissingMandatoryProperty)
        }
        return object
    }

    @discardableResult
    func insert(_ entity: String, _ values: [String: Any]) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: self)
        for (key, value) in values { object.setValue(value, forKey: key) }
        return object
    }
}
