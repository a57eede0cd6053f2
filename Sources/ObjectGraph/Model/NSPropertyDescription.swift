// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// What attributes, relationships and the other properties of an entity have in common.
///
/// Source: developer.apple.com/documentation/coredata/nspropertydescription
open class NSPropertyDescription: NSObject, NSCopying, NSSecureCoding {
    /// The entity that the property belongs to; nil before the property is part of one.
    open internal(set) var entity: NSEntityDescription! {
        get { entityLink?.object }
        set { entityLink = newValue?.backlink }
    }
    private var entityLink: Backlink<NSEntityDescription>?
    open var name = "" { willSet { preconditionIsMutable() } }
    open var isOptional = true { willSet { preconditionIsMutable() } }
    open var isTransient = false { willSet { preconditionIsMutable() } }
    open var userInfo: [AnyHashable: Any]? = [:] { willSet { preconditionIsMutable() } }
    open var isIndexedBySpotlight = false { willSet { preconditionIsMutable() } }
    /// Set it to make the property count as changed though nothing else about it did.
    open var versionHashModifier: String? { willSet { preconditionIsMutable() } }
    /// The name that the property had in the first version of the model; its own name unless set.
    open var renamingIdentifier: String? {
        get { explicitRenamingIdentifier ?? name }
        set {
            preconditionIsMutable()
            explicitRenamingIdentifier = newValue
        }
    }
    /// Without effect since Apple deprecated it; use `indexes` of the entity.
    @available(*, deprecated, message: "use NSEntityDescription.indexes")
    open var isIndexed: Bool {
        get { isIndexedStorage }
        set { isIndexedStorage = newValue }
    }
    @available(*, deprecated, message: "use isIndexedBySpotlight")
    open var isStoredInExternalRecord: Bool {
        get { isStoredInExternalRecordStorage }
        set { isStoredInExternalRecordStorage = newValue }
    }
    private var isIndexedStorage = false
    private var isStoredInExternalRecordStorage = false
    private(set) var explicitRenamingIdentifier: String?
    open private(set) var validationPredicates: [NSPredicate] = []
    open private(set) var validationWarnings: [Any] = []

    public override init() { super.init() }

    /// Predicates over a value of the property; when one is false the value is not valid.
    ///
    /// - Parameter validationWarnings: For each predicate a text for the error, or the number of its code.
    open func setValidationPredicates(_ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?) {
        preconditionIsMutable()
        self.validationPredicates = validationPredicates ?? []
        self.validationWarnings = validationWarnings ?? []
    }

    func preconditionIsMutable() { entity?.preconditionIsMutable() }

    /// What decides whether a store that was made with another version of the model can be opened with this one: name,
    /// optionality, whether it is transient, type or destination, the modifier.
    open var versionHash: Data { VersionHash.bytes(of: hashInput) }

    /// What the version hash is made of; each kind of property adds its own.
    var hashInput: [String] {
        ["property", name, isOptional ? "optional" : "", isTransient ? "transient" : "", versionHashModifier ?? ""]
    }

    // MARK: Copies

    /// A property of the same kind with nothing in it.
    func emptyCopy() -> NSPropertyDescription { NSPropertyDescription() }

    /// Makes this a copy of another of its kind. Entities are not copied: a copy of a relationship knows its
    /// destination by name until the entity it becomes part of is in a model.
    func take(_ other: NSPropertyDescription) {
        name = other.name
        isOptional = other.isOptional
        isTransient = other.isTransient
        userInfo = other.userInfo
        isIndexedBySpotlight = other.isIndexedBySpotlight
        versionHashModifier = other.versionHashModifier
        explicitRenamingIdentifier = other.explicitRenamingIdentifier
        validationPredicates = other.validationPredicates
        validationWarnings = other.validationWarnings
    }

    /// A copy that belongs to no entity and may be changed.
    public final func copy(with zone: NSZone? = nil) -> Any {
        let copy = emptyCopy()
        copy.take(self)
        return copy
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSPropertyDescription else { return false }
        if self === other { return true }
        return type(of: self) == type(of: other) && isSame(as: other)
    }

    func isSame(as other: NSPropertyDescription) -> Bool {
        hashInput == other.hashInput && explicitRenamingIdentifier == other.explicitRenamingIdentifier
            && strings(of: userInfo) == strings(of: other.userInfo)
    }

    open override var hash: Int { name.hashValue }

    // MARK: Coding

    open class var supportsSecureCoding: Bool { true }

    /// Keeps what a model file keeps: validation predicates and user info that is not text are left out.
    open func encode(with coder: NSCoder) { ModelArchive.encode(self, with: coder) }

    public required convenience init?(coder: NSCoder) {
        self.init()
        guard let other = ModelArchive.property(from: coder), type(of: other) == type(of: self) else { return nil }
        take(other)
    }
}
