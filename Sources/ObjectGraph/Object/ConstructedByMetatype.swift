// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Lets generic code construct Core Data's classes: `T(context: c)`, `Self(entity:insertInto:)`, `type(of:
/// object).init(context:)`.
///
/// Swift demands a `required` initializer there, except of classes imported from Objective-C. If these were required,
/// each existing `override init(entity:insertInto:)` would be an error. So the classes conform to this protocol, and its
/// extensions add a second set of initializers. Overload resolution takes them only where the class's own are not
/// allowed; `Note(context: c)` and `super.init(entity:insertInto:)` call the class's.
///
/// Each initializer has no body, and shares its symbol with a static method. In a method `self` is the caller's metatype,
/// which may be a subclass's; in an initializer `Self` is the static type only.
public protocol ConstructedByMetatype: AnyObject {}

extension NSManagedObject: ConstructedByMetatype {}
extension NSManagedObjectContext: ConstructedByMetatype {}
extension NSPersistentStoreCoordinator: ConstructedByMetatype {}
extension NSPersistentContainer: ConstructedByMetatype {}

/// Returns an object as the type of its metatype.
private func checked<Object, Wanted>(_ object: Object, _ type: Wanted.Type) -> Wanted {
    guard let instance = object as? Wanted else {
        preconditionFailure("\(Swift.type(of: object)) was constructed where \(type) was wanted")
    }
    return instance
}

extension ConstructedByMetatype where Self: NSManagedObject {
    /// Creates an object of the metatype's class, and of its entity.
    @_silgen_name("tarn_construct_object_in_context")
    public init(context: NSManagedObjectContext)

    @_silgen_name("tarn_construct_object_in_context")
    @usableFromInline
    static func construct(_ context: __owned NSManagedObjectContext) -> Self {
        let type: NSManagedObject.Type = self
        return checked(type.construct(of: type.entity(in: context), context), Self.self)
    }

    /// Creates an object of the entity's class if it is the metatype's class or a subclass, as Apple's framework does.
    @_silgen_name("tarn_construct_object_of_entity")
    public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?)

    @_silgen_name("tarn_construct_object_of_entity")
    @usableFromInline
    static func construct(_ entity: __owned NSEntityDescription, _ context: __owned NSManagedObjectContext?) -> Self {
        let type: NSManagedObject.Type = self
        return checked(type.construct(of: entity, context), Self.self)
    }
}

extension ConstructedByMetatype where Self: NSManagedObjectContext {
    /// Creates a context of the metatype's class.
    @_silgen_name("tarn_construct_context")
    public init(concurrencyType: NSManagedObjectContextConcurrencyType)

    @_silgen_name("tarn_construct_context")
    @usableFromInline
    static func construct(_ concurrencyType: NSManagedObjectContextConcurrencyType) -> Self {
        let type: NSManagedObjectContext.Type = self
        return checked(type.dynamicInit(concurrencyType), Self.self)
    }
}

extension ConstructedByMetatype where Self: NSPersistentStoreCoordinator {
    /// Creates a coordinator of the metatype's class.
    @_silgen_name("tarn_construct_coordinator")
    public init(managedObjectModel: NSManagedObjectModel)

    @_silgen_name("tarn_construct_coordinator")
    @usableFromInline
    static func construct(_ managedObjectModel: __owned NSManagedObjectModel) -> Self {
        let type: NSPersistentStoreCoordinator.Type = self
        return checked(type.dynamicInit(managedObjectModel), Self.self)
    }
}

extension ConstructedByMetatype where Self: NSPersistentContainer {
    /// Creates a container of the metatype's class.
    @_silgen_name("tarn_construct_container")
    public init(name: String, managedObjectModel: NSManagedObjectModel)

    @_silgen_name("tarn_construct_container")
    @usableFromInline
    static func construct(_ name: __owned String, _ managedObjectModel: __owned NSManagedObjectModel) -> Self {
        let type: NSPersistentContainer.Type = self
        return checked(type.dynamicInit(name, managedObjectModel), Self.self)
    }

    /// Creates a container of the metatype's class, for the model of that name.
    @_silgen_name("tarn_construct_named_container")
    public init(name: String)

    @_silgen_name("tarn_construct_named_container")
    @usableFromInline
    static func construct(_ name: __owned String) -> Self {
        let type: NSPersistentContainer.Type = self
        return checked(type.dynamicInit(finding: name), Self.self)
    }
}
