// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData
import ModelTool

// Members of every form that public code has. A symbol that is written wrongly does not link.

public typealias Strings = [String]
typealias Place = Outer.Place

enum Outer {
    struct Place: Equatable { var x = 0 }
    enum State: String { case on, off }

    final class Inner: NSManagedObject {
        enum Kind: Int32 { case a, b }
        @NSManaged var kind: Kind
        @NSManaged var state: State
        @NSManaged var sibling: Inner?
        @NSManaged var siblings: Set<Inner>?
        @NSManaged var fullyQualified: Outer.Inner?
        @NSManaged func addToSiblings(_ value: Inner)
    }
}

extension Outer.Inner {
    @NSManaged var place: Place?
    @NSManaged func insertIntoSiblings(_ value: Outer.Inner, at idx: Int)
}

public class Animal: NSManagedObject {
    @NSManaged public var strings: Strings?
    @NSManaged public var map: [String: Any]?
    @NSManaged public var deep: [String: [Int: Set<String>]]?
    @NSManaged public var anything: Any?
    @NSManaged public var object: AnyObject?
    @NSManaged public var coding: (any NSCoding)?
    @NSManaged public var attributed: NSAttributedString?
    @NSManaged public var root: NSObject?
    @NSManaged public var implicit: String!
    @NSManaged public var explicit: Optional<String>
    @NSManaged public var dates: [Date]
    @NSManaged public var ids: [UUID?]?
    @NSManaged public var parents: NSOrderedSet?
    @NSManaged public var snake_case_name: Int64
    @NSManaged public var creationDate: Date?
    @NSManaged public var dateOfCreationDate: Date?
    @NSManaged public var 名前: String?
    @NSManaged public var `default`: String?
    @NSManaged public var owner: Animal
    @NSManaged public var managed: NSManagedObject?
    @NSManaged public var objectIdentifier: NSManagedObjectID?
    @NSManaged var token: SwiftToken?
    @NSManaged var kinds: [SwiftToken.Kind]
    @NSManaged internal fileprivate(set) var inside: Int32
    @NSManaged fileprivate var hidden: Int32
    @NSManaged private var wholly: Date?
}

extension Animal {
    @NSManaged public func addToParents(_ value: Animal)
    @NSManaged public func addToParents(_ values: NSOrderedSet)
    @NSManaged public func removeFromParents(_ value: Animal)
    @NSManaged public func removeFromParents(_ values: NSOrderedSet)
    @NSManaged public func insertIntoParents(_ value: Animal, at idx: Int)
    @NSManaged public func removeFromParents(at idx: Int)
    @NSManaged public func insertIntoParents(_ values: [Animal], at indexes: NSIndexSet)
    @NSManaged public func removeFromParents(at indexes: NSIndexSet)
    @NSManaged public func replaceParents(at idx: Int, with value: Animal)
    @NSManaged public func replaceParents(at indexes: NSIndexSet, with values: [Animal])
    @NSManaged func addParentsObject(_ value: Animal)
    @NSManaged func removeParents(_ values: NSSet)
}

final class Dog: Animal {
    @NSManaged override var snake_case_name: Int64
    @NSManaged fileprivate var master: Person?
}

private class Person: NSManagedObject {
    @NSManaged var dogs: Set<Dog>
    @NSManaged private var name: String?
    @NSManaged public var shown: String?
}
