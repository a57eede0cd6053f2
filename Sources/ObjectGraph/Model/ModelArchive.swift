// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Keyed archives of models and their parts: the bytes of a compiled model under one key.
enum ModelArchive {
    private static let key = "TarnModel"
    /// Localized texts are no part of a compiled model.
    private static let textsKey = "TarnLocalizedTexts"

    static func encode(_ model: NSManagedObjectModel, with coder: NSCoder) {
        encode(model.value, with: coder)
        if let texts = model.localizationDictionary { coder.encode(NSDictionary(dictionary: texts), forKey: textsKey) }
    }

    static func encode(_ entity: NSEntityDescription, with coder: NSCoder) {
        var model = Model(entities: [entity.value])
        model.composites = entity.composites
        encode(model, with: coder)
    }

    /// A property is archived as the only one of an unnamed entity.
    static func encode(_ property: NSPropertyDescription, with coder: NSCoder) {
        let entity = NSEntityDescription()
        entity.name = ""
        guard let copy = property.copy() as? NSPropertyDescription else { preconditionFailure("a copy of a property is one") }
        entity.properties = [copy]
        encode(entity, with: coder)
    }

    static func texts(from coder: NSCoder) -> [String: String]? {
        guard coder.containsValue(forKey: textsKey) else { return nil }
        return coder.decodeObject(of: [NSDictionary.self, NSString.self], forKey: textsKey) as? [String: String]
    }

    static func model(from coder: NSCoder) -> Model? {
        guard let data = coder.decodeObject(of: NSData.self, forKey: key) else { return nil }
        return try? CompiledModel(data: Data(referencing: data)).current
    }

    static func entity(from coder: NSCoder) -> (Entity, [Composite])? {
        guard let model = model(from: coder), let entity = model.entities.first else { return nil }
        return (entity, model.composites)
    }

    static func property(from coder: NSCoder) -> NSPropertyDescription? {
        guard let (entity, composites) = entity(from: coder) else { return nil }
        return NSEntityDescription(entity, composites: composites).properties.first
    }

    private static func encode(_ model: Model, with coder: NSCoder) {
        do {
            let data = try CompiledModel(currentVersion: "", versions: ["": model]).encoded()
            coder.encode(NSData(data: data), forKey: key)
        } catch {
            coder.failWithError(error)
        }
    }
}
