// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The effect of an object's deletion on a relationship's members. Raw values are Apple's.
public enum NSDeleteRule: UInt, Sendable {
    /// The members are unchanged, and may reference a deleted object.
    case noActionDeleteRule = 0
    /// The members' inverse relationships are cleared.
    case nullifyDeleteRule = 1
    /// The members are deleted.
    case cascadeDeleteRule = 2
    /// The deletion fails while the relationship has members.
    case denyDeleteRule = 3
}

/// A property that references objects of an entity.
///
/// Source: developer.apple.com/documentation/coredata/nsrelationshipdescription
open class NSRelationshipDescription: NSPropertyDescription {
    /// The entity of the members.
    open var destinationEntity: NSEntityDescription? {
        get { destinationLink?.object }
        set {
            preconditionIsMutable()
            destinationLink = newValue?.backlink
            if let newValue { destinationName = newValue.name }
        }
    }
    private var destinationLink: Backlink<NSEntityDescription>?
    /// The smallest number of members.
    open var minCount = 0 { willSet { preconditionIsMutable() } }
    /// The largest number of members. 1 makes the relationship to-one; 0 means unbounded.
    open var maxCount = 0 { willSet { preconditionIsMutable() } }
    /// Whether the members are ordered.
    open var isOrdered = false { willSet { preconditionIsMutable() } }
    /// The effect of the object's deletion on the members.
    open var deleteRule: NSDeleteRule = .nullifyDeleteRule { willSet { preconditionIsMutable() } }
    private(set) var destinationName: String?
    private var inverseName: String?
    private weak var explicitInverse: NSRelationshipDescription?

    /// Whether the relationship may have several members.
    open var isToMany: Bool { maxCount != 1 }

    /// The relationship of the destination entity that references this one's objects.
    open var inverseRelationship: NSRelationshipDescription? {
        get { explicitInverse ?? inverseName.flatMap { destinationEntity?.relationshipsByName[$0] } }
        set {
            preconditionIsMutable()
            explicitInverse = newValue
            inverseName = newValue?.name
        }
    }

    public override init() { super.init() }

    init(_ relationship: Relationship) {
        super.init()
        name = relationship.name
        isOptional = relationship.isOptional
        isTransient = relationship.isTransient
        userInfo = relationship.userInfo
        renamingIdentifier = relationship.renamingIdentifier
        versionHashModifier = relationship.versionHashModifier
        isIndexedBySpotlight = relationship.isIndexedBySpotlight
        minCount = relationship.minimumCount
        maxCount = relationship.maximumCount
        isOrdered = relationship.isOrdered
        deleteRule = NSDeleteRule(rawValue: UInt(relationship.deleteRule.rawValue)) ?? .nullifyDeleteRule
        destinationName = relationship.destination
        inverseName = relationship.inverse
    }

    var value: Relationship {
        var relationship = Relationship(
            name: name, destination: destinationEntity?.name ?? destinationName ?? "",
            inverse: explicitInverse?.name ?? inverseName, isToMany: isToMany, isOrdered: isOrdered,
            isOptional: isOptional, deleteRule: DeleteRule(rawValue: Int(deleteRule.rawValue)) ?? .nullify)
        relationship.minimumCount = minCount
        relationship.maximumCount = maxCount
        relationship.isTransient = isTransient
        relationship.isIndexedBySpotlight = isIndexedBySpotlight
        relationship.userInfo = strings(of: userInfo)
        relationship.renamingIdentifier = explicitRenamingIdentifier
        relationship.versionHashModifier = versionHashModifier
        return relationship
    }

    /// Resolves the destination among the entities of the relationship's model.
    func connect(_ entities: [String: NSEntityDescription]) {
        if destinationEntity == nil { destinationEntity = entities[destinationName ?? ""] }
    }

    override var hashInput: [String] {
        let value = value
        return super.hashInput + [
            "relationship", value.destination, value.inverse ?? "", "\(minCount)", "\(maxCount)", isOrdered ? "ordered" : "",
        ]
    }

    override func emptyCopy() -> NSPropertyDescription { NSRelationshipDescription() }

    override func copyValues(from other: NSPropertyDescription) {
        super.copyValues(from: other)
        guard let other = other as? NSRelationshipDescription else { return }
        minCount = other.minCount
        maxCount = other.maxCount
        isOrdered = other.isOrdered
        deleteRule = other.deleteRule
        destinationName = other.destinationEntity?.name ?? other.destinationName
        inverseName = other.explicitInverse?.name ?? other.inverseName
    }

    override func isSame(as other: NSPropertyDescription) -> Bool {
        guard let other = other as? NSRelationshipDescription else { return false }
        return super.isSame(as: other) && value == other.value
    }
}
