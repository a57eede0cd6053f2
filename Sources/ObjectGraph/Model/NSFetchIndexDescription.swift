// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit

/// Raw values are Apple's.
public enum NSFetchIndexElementType: UInt, Sendable {
    case binary = 0
    /// For ranges of numbers. Differs: kept as an ordinary index, which answers the same fetches.
    case rTree = 1
}

/// A property in an index.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchindexelementdescription
open class NSFetchIndexElementDescription: NSObject, NSCopying {
    private let given: NSPropertyDescription?
    private let name: String
    open var collationType: NSFetchIndexElementType {
        didSet { indexDescription?.checkCollations() }
    }
    open var isAscending = true
    open internal(set) weak var indexDescription: NSFetchIndexDescription?

    public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
        given = property
        name = property.name
        self.collationType = collationType
    }

    fileprivate init(_ element: FetchIndex.Element) {
        given = nil
        name = element.property
        collationType = element.isRTree ? .rTree : .binary
        super.init()
        isAscending = element.isAscending
    }

    fileprivate init(copying other: NSFetchIndexElementDescription) {
        given = other.given
        name = other.name
        collationType = other.collationType
        super.init()
        isAscending = other.isAscending
    }

    /// nil when the index belongs to no entity that has the property.
    open var property: NSPropertyDescription? { given ?? indexDescription?.entity?.propertiesByName[name] }
    open var propertyName: String? { given?.name ?? name }

    open func copy(with zone: NSZone? = nil) -> Any { NSFetchIndexElementDescription(copying: self) }

    fileprivate var value: FetchIndex.Element {
        FetchIndex.Element(property: propertyName ?? name, isAscending: isAscending, isRTree: collationType == .rTree)
    }
}

/// An index that makes fetches by some properties fast. It belongs to the model, but changing it makes no other model:
/// a store gains and loses indexes when it is opened.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchindexdescription
open class NSFetchIndexDescription: NSObject, NSCopying {
    open var name: String
    /// - Precondition: All of one collation type.
    open var elements: [NSFetchIndexElementDescription] {
        didSet { adopt() }
    }
    /// Only objects that match are in the index. Comparisons of attributes with constants, joined by AND, OR and NOT;
    /// with anything else the index has all objects.
    open var partialIndexPredicate: NSPredicate?
    open internal(set) weak var entity: NSEntityDescription?

    public init(name: String, elements: [NSFetchIndexElementDescription]?) {
        self.name = name
        self.elements = elements ?? []
        super.init()
        adopt()
    }

    convenience init(_ index: FetchIndex) {
        self.init(name: index.name, elements: index.elements.map { NSFetchIndexElementDescription($0) })
        // A format that cannot be read was refused by the model compiler.
        partialIndexPredicate = index.partialPredicateFormat.map { NSPredicate(format: $0) }
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = NSFetchIndexDescription(
            name: name, elements: elements.map { NSFetchIndexElementDescription(copying: $0) })
        copy.partialIndexPredicate = partialIndexPredicate
        return copy
    }

    private func adopt() {
        for element in elements { element.indexDescription = self }
        checkCollations()
    }

    fileprivate func checkCollations() {
        precondition(
            Set(elements.map(\.collationType)).count <= 1, "the fetch index '\(name)' mixes binary and R-tree elements; make two")
    }

    var value: FetchIndex {
        var index = FetchIndex(name: name, elements: elements.map(\.value))
        index.partialPredicateFormat = partialIndexPredicate.flatMap(parsed)?.formatDescription
        return index
    }
}
