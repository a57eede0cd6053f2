// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// The common superclass of attributes, relationships and the other properties of an entity.
///
/// Source: developer.apple.com/documentation/coredata/nspropertydescription
open class NSPropertyDescription: NSObject, NSCopying, NSSecureCoding {
    /// The entity of the property; nil before the property is added to one.
    open internal(set) var entity: NSEntityDescription! {
        get { entityLink?.object }
        set { entityLink = newValue?.backlink }
    }
    private var entityLink: Backlink<NSEntityDescription>?
    /// The property's name.
    open var name = "" { willSet { preconditionIsMutable() } }
    /// Whether the value may be nil.
    open var isOptional = true { willSet { preconditionIsMutable() } }
    /// Whether the property is never saved.
    open var isTransient = false { willSet { preconditionIsMutable() } }
    /// Values that the app attaches to the property.
    open var userInfo: [AnyHashable: Any]? = [:] { willSet { preconditionIsMutable() } }
    /// Whether a search index includes the property. Stored without effect: Linux has no such index.
    open var isIndexedBySpotlight = false { willSet { preconditionIsMutable() } }
    /// Changes the version hash of a property that is otherwise unchanged.
    open var versionHashModifier: String? { willSet { preconditionIsMutable() } }
    /// The name of the property in the first version of the model; its own name by default.
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
    /// Without effect since Apple deprecated it.
    @available(*, deprecated, message: "use isIndexedBySpotlight")
    open var isStoredInExternalRecord: Bool {
        get { isStoredInExternalRecordStorage }
        set { isStoredInExternalRecordStorage = newValue }
    }
    private var isIndexedStorage = false
    private var isStoredInExternalRecordStorage = false
    private(set) var explicitRenamingIdentifier: String?
    /// The predicates that valid values match.
    open private(set) var validationPredicates: [NSPredicate] = []
    /// For each validation predicate a text for the error, or the number of its code.
    open private(set) var validationWarnings: [Any] = []

    public override init() { super.init() }

    /// Sets the predicates that valid values match.
    ///
    /// - Parameter validationWarnings: For each predicate a text for the error, or the number of its code.
    open func setValidationPredicates(_ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?) {
        preconditionIsMutable()
        self.validationPredicates = validationPredicates ?? []
        self.validationWarnings = validationWarnings ?? []
    }

    func preconditionIsMutable() { entity?.preconditionIsMutable() }

    /// A hash over everything that decides compatibility with a store of another version: name, optionality, transience,
    /// type or destination, modifier.
    open var versionHash: Data { VersionHash.bytes(of: hashInput) }

    /// The input of the version hash; each kind of property appends to it.
    var hashInput: [String] {
        ["property", name, isOptional ? "optional" : "", isTransient ? "transient" : "", versionHashModifier ?? ""]
    }

    // MARK: Copies

    /// Returns an empty property of the same kind.
    func emptyCopy() -> NSPropertyDescription { NSPropertyDescription() }

    /// Copies the values of another property of the same kind. Entities are not copied: a copied relationship stores its
    /// destination's name until its entity is added to a model.
    func copyValues(from other: NSPropertyDescription) {
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

    /// Returns a mutable copy without an entity.
    public final func copy(with zone: NSZone? = nil) -> Any {
        let copy = emptyCopy()
        copy.copyValues(from: self)
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

    /// Returns true: properties archive securely.
    open class var supportsSecureCoding: Bool { true }

    /// Archives the contents of a model file: validation predicates, and user info other than texts, are omitted.
    open func encode(with coder: NSCoder) { ModelArchive.encode(self, with: coder) }

    /// Unarchives a property without an entity.
    ///
    /// - Returns: nil for another archive.
    public required convenience init?(coder: NSCoder) {
        self.init()
        guard let other = ModelArchive.property(from: coder), type(of: other) == type(of: self) else { return nil }
        copyValues(from: other)
    }
}
