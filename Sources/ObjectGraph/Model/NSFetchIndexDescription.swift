// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit

/// The kind of an index. Raw values are Apple's.
public enum NSFetchIndexElementType: UInt, Sendable {
    /// A sorted index.
    case binary = 0
    /// An index of numeric ranges. Stored as a sorted index.
    case rTree = 1
}

/// An index of a SQLite store that speeds up fetches. It has no effect on version hashes.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchindexdescription
open class NSFetchIndexDescription: NSObject, NSCopying {
    /// The index's name, unique in the entity.
    open var name: String
    /// The entity of the index.
    open internal(set) var entity: NSEntityDescription? {
        get { entityLink?.object }
        set { entityLink = newValue?.backlink }
    }
    private var entityLink: Backlink<NSEntityDescription>?
    /// The condition on indexed rows; nil for all rows.
    open var partialIndexPredicate: NSPredicate?
    /// The indexed columns, in order.
    open var elements: [NSFetchIndexElementDescription] {
        didSet { adopt() }
    }

    /// Creates an index.
    ///
    /// - Precondition: The elements are all binary, or all R-tree.
    public init(name: String, elements: [NSFetchIndexElementDescription]?) {
        self.name = name
        self.elements = elements ?? []
        super.init()
        adopt()
    }

    private func adopt() {
        precondition(
            Set(elements.map(\.collationType)).count <= 1, "the index '\(name)' mixes binary and R-tree elements; make two indexes")
        for element in elements { element.indexDescription = self }
    }

    /// Returns a copy without an entity.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copies = elements.compactMap { $0.copy() as? NSFetchIndexElementDescription }
        let copy = NSFetchIndexDescription(name: name, elements: copies)
        copy.partialIndexPredicate = partialIndexPredicate
        return copy
    }

    convenience init(_ index: FetchIndex, properties: [String: NSPropertyDescription]) {
        self.init(
            name: index.name,
            elements: index.elements.map { element in
                let property =
                    element.expressionFormat.map { NSExpressionDescription($0, element.expressionType) } ?? properties[element.property]
                let made = NSFetchIndexElementDescription(
                    name: property?.name ?? element.property, property: property, collationType: element.isRTree ? .rTree : .binary)
                made.isAscending = element.isAscending
                return made
            })
        partialIndexPredicate = index.partialPredicateFormat.flatMap { try? NSPredicate.made(PredicateKit.Predicate(format: $0, [])) }
    }

    var value: FetchIndex {
        var index = FetchIndex(
            name: name,
            elements: elements.map { element in
                let computed = element.property as? NSExpressionDescription
                var value = FetchIndex.Element(
                    property: computed == nil ? element.propertyName ?? "" : "", isAscending: element.isAscending,
                    isRTree: element.collationType == .rTree)
                value.expressionFormat = computed?.expression?.description
                value.expressionType = computed.flatMap { AttributeType(rawValue: Int($0.expressionResultType.rawValue)) } ?? .undefined
                return value
            })
        index.partialPredicateFormat = partialIndexPredicate.flatMap { parsed($0)?.formatDescription }
        return index
    }
}

/// One column of an index.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchindexelementdescription
open class NSFetchIndexElementDescription: NSObject, NSCopying {
    /// The indexed property.
    open private(set) var property: NSPropertyDescription?
    /// The name of the indexed property.
    open private(set) var propertyName: String?
    /// The kind of the index.
    open var collationType: NSFetchIndexElementType
    /// Whether the column sorts ascending.
    open var isAscending = true
    /// The index of the column.
    open internal(set) weak var indexDescription: NSFetchIndexDescription?

    /// Creates a column for a property.
    public init(property: NSPropertyDescription, collationType: NSFetchIndexElementType) {
        self.property = property
        propertyName = property.name
        self.collationType = collationType
    }

    init(name: String?, property: NSPropertyDescription?, collationType: NSFetchIndexElementType) {
        self.property = property
        propertyName = name
        self.collationType = collationType
    }

    /// Returns a copy without an index.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = NSFetchIndexElementDescription(name: propertyName, property: property, collationType: collationType)
        copy.isAscending = isAscending
        return copy
    }
}
