// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel

/// The model of the talk, and objects of it.
enum Posts {
    static var model: Model {
        Model(entities: [
            Entity(
                name: "Post",
                attributes: [
                    Attribute(name: "title", type: .string), Attribute(name: "content", type: .string),
                    Attribute(name: "timestamp", type: .date),
                ],
                relationships: [
                    Relationship(name: "attachments", destination: "Attachment", inverse: "post", isToMany: true, deleteRule: .cascade),
                    Relationship(name: "tags", destination: "Tag", inverse: "posts", isToMany: true),
                ]),
            Entity(
                name: "Tag", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "posts", destination: "Post", inverse: "tags", isToMany: true)]),
            Entity(
                name: "Attachment", attributes: [Attribute(name: "thumbnail", type: .binaryData)],
                relationships: [
                    Relationship(name: "post", destination: "Post", inverse: "attachments"),
                    Relationship(name: "imageData", destination: "ImageData", inverse: "attachment", deleteRule: .cascade),
                ]),
            Entity(
                name: "ImageData", attributes: [Attribute(name: "data", type: .binaryData)],
                relationships: [Relationship(name: "attachment", destination: "Attachment", inverse: "imageData")]),
        ])
    }

    /// One object as a line: its values, and its related objects by their titles.
    static func line(_ object: NSManagedObject) -> String {
        var parts = [object.entity.name ?? "?"]
        for name in object.entity.attributesByName.keys.sorted() {
            switch object.value(forKey: name) {
            case let text as String: parts.append("\(name) \(text.count > 60 ? "…\(text.count)" : text)")
            case let data as Data: parts.append("\(name) <\(data.count):\(sum(of: data) % 997)>")
            case let date as Date: parts.append("\(name) @\(date.timeIntervalSinceReferenceDate)")
            default: break
            }
        }
        for name in object.entity.relationshipsByName.keys.sorted() {
            if let one = object.value(forKey: name) as? NSManagedObject { parts.append("\(name) → \(label(one))") }
            if let many = object.value(forKey: name) as? Set<NSManagedObject>, !many.isEmpty {
                parts.append("\(name) \(many.map(label).sorted())")
            }
        }
        return parts.joined(separator: "  ")
    }

    /// The sum of all bytes. Eight at a time: a debug build takes seconds for those of large assets one by one.
    private static func sum(of data: Data) -> UInt64 {
        data.withUnsafeBytes { bytes in
            var (sum, offset) = (UInt64(0), 0)
            while bytes.count &- offset >= 8 {
                let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let pairs = (word & 0x00ff_00ff_00ff_00ff) &+ ((word &>> 8) & 0x00ff_00ff_00ff_00ff)
                // The uppermost 16 bits of the product are the sum of the four.
                sum &+= (pairs &* 0x0001_0001_0001_0001) &>> 48
                offset &+= 8
            }
            return bytes[offset...].reduce(sum) { $0 + UInt64($1) }
        }
    }

    private static func label(_ object: NSManagedObject) -> String {
        switch object.entity.name {
        case "Post": "\(object.value(forKey: "title") as? String ?? "–")"
        case "Tag": "\(object.value(forKey: "name") as? String ?? "–")"
        default: object.entity.name ?? "?"
        }
    }
}

extension NSManagedObjectContext {
    func all(_ entity: String) throws -> [NSManagedObject] { try fetch(NSFetchRequest<NSManagedObject>(entityName: entity)) }

    func post(titled title: String) throws -> NSManagedObject? {
        try all("Post").first { $0.value(forKey: "title") as? String == title }
    }

    @discardableResult
    func insert(_ entity: String, _ values: [String: Any]) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: self)
        for (key, value) in values { object.setValue(value, forKey: key) }
        return object
    }
}
