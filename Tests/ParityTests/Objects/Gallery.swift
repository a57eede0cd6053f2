// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Pictures have values of an app's own types, and unique names; a series and a number are unique together.
final class Picture: NSManagedObject {}
final class Sketch: NSManagedObject {}
final class Hall: NSManagedObject {}

/// A value that can be archived.
final class Shade: NSObject, NSSecureCoding {
    let level: Int

    static var supportsSecureCoding: Bool { true }
    init(_ level: Int) { self.level = level }
    required init?(coder: NSCoder) { level = coder.decodeInteger(forKey: "level") }
    func encode(with coder: NSCoder) { coder.encode(level, forKey: "level") }
    override func isEqual(_ object: Any?) -> Bool { (object as? Shade)?.level == level }
    override var hash: Int { level }
}

/// Archives shades.
final class ShadeTransformer: NSSecureUnarchiveFromDataTransformer {
    override class var allowedTopLevelClasses: [AnyClass] { super.allowedTopLevelClasses + [Shade.self] }
}

/// Writes a list of words as text.
final class WordsTransformer: ValueTransformer {
    override class func transformedValueClass() -> AnyClass { NSData.self }
    override class func allowsReverseTransformation() -> Bool { true }
    override func transformedValue(_ value: Any?) -> Any? { (value as? [String]).map { Data($0.joined(separator: " ").utf8) } }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
        (value as? Data).map { String(decoding: $0, as: UTF8.self).split(separator: " ").map(String.init) }
    }
}

enum Gallery {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())
    static var model: NSManagedObjectModel { shared.model }

    private static func makeModel() -> NSManagedObjectModel {
        ValueTransformer.setValueTransformer(ShadeTransformer(), forName: NSValueTransformerName("Shades"))
        ValueTransformer.setValueTransformer(WordsTransformer(), forName: NSValueTransformerName("Words"))
        let picture = Library.entity("Picture", Picture.self)
        let sketch = Library.entity("Sketch", Sketch.self)
        let room = Library.entity("Hall", Hall.self)
        let plain = transformable("plain", "NSSecureUnarchiveFromData")
        let cached = Library.attribute("cached", .undefinedAttributeType)
        cached.isTransient = true
        let preview = transformable("preview", nil)
        preview.isTransient = true
        picture.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("series", .stringAttributeType),
            Library.attribute("number", .integer32AttributeType, default: 0), Library.attribute("note", .stringAttributeType),
            plain, transformable("shade", "Shades"), transformable("words", "Words"), cached, preview,
        ]
        picture.uniquenessConstraints = [["name"], ["series", "number"]]
        picture.subentities = [sketch]
        room.properties = [Library.attribute("name", .stringAttributeType)]
        Library.connect(room, "pictures", toMany: true, with: picture, "room", toMany: false)
        let model = NSManagedObjectModel()
        model.entities = [picture, sketch, room]
        return model
    }

    private static func transformable(_ name: String, _ transformer: String?) -> NSAttributeDescription {
        let attribute = Library.attribute(name, .transformableAttributeType)
        attribute.valueTransformerName = transformer
        return attribute
    }

    static func container(at url: URL? = nil) throws -> NSPersistentContainer {
        try Music.loaded(NSPersistentContainer(name: "Gallery", managedObjectModel: model), at: url)
    }

    static func context(_ policy: NSMergePolicy = .error) throws -> NSManagedObjectContext {
        let context = try container().newBackgroundContext()
        context.mergePolicy = policy
        return context
    }

    /// Names and notes of all pictures in the store.
    static func pictures(_ context: NSManagedObjectContext) throws -> [String] {
        let request = NSFetchRequest<Picture>(entityName: "Picture")
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true), NSSortDescriptor(key: "note", ascending: true)]
        context.refreshAllObjects()
        return try context.fetch(request).map { "\($0.nameValue ?? "-") \($0.value(forKey: "note") as? String ?? "-")" }
    }
}
