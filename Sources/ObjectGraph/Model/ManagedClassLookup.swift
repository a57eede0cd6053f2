// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CRuntimeRecords
import Foundation
import ManagedModel
import Synchronization

/// Finds classes by name in the type records of all loaded images.
///
/// On Linux the Swift runtime cannot look up a class by its bare name, the form that models have; the compiler's type
/// records can. Classes that no code mentions are found, too.
enum ManagedClassLookup {
    private struct Match: @unchecked Sendable {
        // Unchecked: metatypes are immutable.
        let module: String
        let type: any AnyObject.Type
    }

    /// Returns the class that a model names for an entity; `NSManagedObject` if the program has no such class.
    static func managedClass(for entity: Entity) -> NSManagedObject.Type {
        guard entity.className != "NSManagedObject" else { return NSManagedObject.self }
        let candidates = classes(named: entity.className).compactMap { match in
            (match.type as? NSManagedObject.Type).map { (match.module, $0) }
        }
        return candidates.first { $0.0 == entity.classModule }?.1 ?? candidates.first?.1 ?? NSManagedObject.self
    }

    /// Returns a class of transformers; the name may begin with a module.
    static func transformer(named name: String) -> ValueTransformer.Type? {
        classes(named: bare(name)).lazy.compactMap { $0.type as? ValueTransformer.Type }.first
    }

    /// Returns a class with securely archived objects.
    static func secureClass(named name: String) -> AnyClass? {
        classes(named: bare(name)).lazy.map(\.type).first { $0 is any NSSecureCoding.Type }
    }

    /// Returns a class of migration policies; the name may begin with a module.
    static func migrationPolicy(named name: String) -> NSEntityMigrationPolicy.Type? {
        let module = name.contains(".") ? name.split(separator: ".").first.map(String.init) : nil
        let candidates = classes(named: bare(name)).filter { $0.type is NSEntityMigrationPolicy.Type }
        return (candidates.first { $0.module == module } ?? candidates.first)?.type as? NSEntityMigrationPolicy.Type
    }

    private static func bare(_ name: String) -> String { name.split(separator: ".").last.map(String.init) ?? name }

    /// Returns the registrations that the model compiler generated into loaded images.
    static func registrations() -> [ManagedModelRegistration.Type] {
        visit { _, name in name.hasSuffix("ModelRegistration") }.compactMap { $0.type as? ManagedModelRegistration.Type }
    }

    /// Returns the property lists that the plugin generated into loaded images.
    static func keyedPropertyRegistrations() -> [KeyedPropertyRegistration.Type] {
        visit { _, name in name.hasSuffix("KeyedProperties") }.compactMap { $0.type as? KeyedPropertyRegistration.Type }
    }

    private static func classes(named wanted: String) -> [Match] { visit { _, name in name == wanted } }

    private static func visit(_ isWanted: (_ module: String, _ name: String) -> Bool) -> [Match] {
        withoutActuallyEscaping(isWanted) { isWanted in
            let walk = Walk(isWanted)
            tarn_visit_classes(
                { module, name, metadata, context in
                    guard let module, let name, let metadata, let context else { return true }
                    let walk = Unmanaged<Walk>.fromOpaque(context).takeUnretainedValue()
                    let moduleName = String(cString: module)
                    guard walk.isWanted(moduleName, String(cString: name)), let record = metadata(0) else { return true }
                    if let type = unsafeBitCast(record, to: Any.Type.self) as? any AnyObject.Type {
                        walk.matches.append(Match(module: moduleName, type: type))
                    }
                    return true
                }, Unmanaged.passUnretained(walk).toOpaque())
            return walk.matches.sorted { $0.module < $1.module }
        }
    }

    private final class Walk {
        let isWanted: (String, String) -> Bool
        var matches: [Match] = []
        init(_ isWanted: @escaping (String, String) -> Bool) { self.isWanted = isWanted }
    }
}
