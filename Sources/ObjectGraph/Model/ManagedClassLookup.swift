// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CRuntimeRecords
import Foundation
import ManagedModel
import Synchronization

/// Finds classes by name among the type records of everything that is loaded.
///
/// On Linux the Swift runtime cannot look a class up by its bare name, which is what models carry; the
/// compiler's type records can. Classes that no code mentions are found too.
enum ManagedClassLookup {
    private struct Found: @unchecked Sendable {
        // Unchecked: metatypes are immutable.
        let module: String
        let type: any AnyObject.Type
    }

    /// The class a model names for an entity; `NSManagedObject` when the program has no such class.
    static func managedClass(for entity: Entity) -> NSManagedObject.Type {
        guard entity.className != "NSManagedObject" else { return NSManagedObject.self }
        let candidates = classes(named: entity.className).compactMap { found in
            (found.type as? NSManagedObject.Type).map { (found.module, $0) }
        }
        return candidates.first { $0.0 == entity.classModule }?.1 ?? candidates.first?.1 ?? NSManagedObject.self
    }

    /// A class of transformers; the name may have a module in front.
    static func transformer(named name: String) -> ValueTransformer.Type? {
        classes(named: bare(name)).lazy.compactMap { $0.type as? ValueTransformer.Type }.first
    }

    /// A class whose objects can be archived securely.
    static func secureClass(named name: String) -> AnyClass? {
        classes(named: bare(name)).lazy.map(\.type).first { $0 is any NSSecureCoding.Type }
    }

    /// A class of migration policies; the name may have a module in front.
    static func migrationPolicy(named name: String) -> NSEntityMigrationPolicy.Type? {
        let module = name.contains(".") ? name.split(separator: ".").first.map(String.init) : nil
        let candidates = classes(named: bare(name)).filter { $0.type is NSEntityMigrationPolicy.Type }
        return (candidates.first { $0.module == module } ?? candidates.first)?.type as? NSEntityMigrationPolicy.Type
    }

    private static func bare(_ name: String) -> String { name.split(separator: ".").last.map(String.init) ?? name }

    /// Every registration that the model compiler generated into a loaded image.
    static func registrations() -> [ManagedModelRegistration.Type] {
        visit { _, name in name.hasSuffix("ModelRegistration") }.compactMap { $0.type as? ManagedModelRegistration.Type }
    }

    /// Every list of properties that the plugin generated into a loaded image.
    static func keyedPropertyRegistrations() -> [KeyedPropertyRegistration.Type] {
        visit { _, name in name.hasSuffix("KeyedProperties") }.compactMap { $0.type as? KeyedPropertyRegistration.Type }
    }

    private static func classes(named wanted: String) -> [Found] { visit { _, name in name == wanted } }

    private static func visit(_ isWanted: (_ module: String, _ name: String) -> Bool) -> [Found] {
        withoutActuallyEscaping(isWanted) { isWanted in
            let walk = Walk(isWanted)
            tarn_visit_classes(
                { module, name, metadata, context in
                    guard let module, let name, let metadata, let context else { return true }
                    let walk = Unmanaged<Walk>.fromOpaque(context).takeUnretainedValue()
                    let moduleName = String(cString: module)
                    guard walk.isWanted(moduleName, String(cString: name)), let record = metadata(0) else { return true }
                    if let type = unsafeBitCast(record, to: Any.Type.self) as? any AnyObject.Type {
                        walk.found.append(Found(module: moduleName, type: type))
                    }
                    return true
                }, Unmanaged.passUnretained(walk).toOpaque())
            return walk.found.sorted { $0.module < $1.module }
        }
    }

    private final class Walk {
        let isWanted: (String, String) -> Bool
        var found: [Found] = []
        init(_ isWanted: @escaping (String, String) -> Bool) { self.isWanted = isWanted }
    }
}
