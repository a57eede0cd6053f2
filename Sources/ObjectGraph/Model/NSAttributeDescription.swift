// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The type of an attribute. Raw values are Apple's.
public enum NSAttributeType: UInt, Sendable {
    /// Not set.
    case undefinedAttributeType = 0
    /// A 16-bit integer.
    case integer16AttributeType = 100
    /// A 32-bit integer.
    case integer32AttributeType = 200
    /// A 64-bit integer.
    case integer64AttributeType = 300
    /// A decimal number.
    case decimalAttributeType = 400
    /// A double-precision number.
    case doubleAttributeType = 500
    /// A single-precision number.
    case floatAttributeType = 600
    /// Text.
    case stringAttributeType = 700
    /// A Boolean.
    case booleanAttributeType = 800
    /// A date.
    case dateAttributeType = 900
    /// Bytes.
    case binaryDataAttributeType = 1000
    /// A UUID.
    case UUIDAttributeType = 1100
    /// A URI.
    case URIAttributeType = 1200
    /// A value encoded by a value transformer.
    case transformableAttributeType = 1800
    /// An object ID.
    case objectIDAttributeType = 2000
    /// A composite of other attributes.
    case compositeAttributeType = 2100
}

/// A property that has a value.
///
/// Source: developer.apple.com/documentation/coredata/nsattributedescription
open class NSAttributeDescription: NSPropertyDescription {
    /// The type of the attribute's values.
    open var attributeType: NSAttributeType = .undefinedAttributeType { willSet { preconditionIsMutable() } }
    /// The value of new objects.
    open var defaultValue: Any? { willSet { preconditionIsMutable() } }
    /// The name of the value transformer of a transformable attribute.
    open var valueTransformerName: String? { willSet { preconditionIsMutable() } }
    /// Whether large values may be stored in files next to the store.
    open var allowsExternalBinaryDataStorage = false { willSet { preconditionIsMutable() } }
    /// Whether a deleted object's value stays in history.
    open var preservesValueInHistoryOnDeletion = false { willSet { preconditionIsMutable() } }
    /// Whether mirroring encrypts the value.
    open var allowsCloudEncryption = false { willSet { preconditionIsMutable() } }
    private var explicitValueClassName: String?
    /// Values without API (bounds, scalar types) stay as in the model file.
    private(set) var declared = Attribute(name: "", type: .undefined)

    /// The class of the attribute's values: that of its type, unless another was set for a transformable attribute.
    open var attributeValueClassName: String? {
        get { explicitValueClassName ?? attributeType.valueClassName }
        set {
            preconditionIsMutable()
            explicitValueClassName = newValue
        }
    }

    public override init() { super.init() }

    init(_ attribute: Attribute) {
        super.init()
        setValues(from: attribute)
    }

    func setValues(from attribute: Attribute) {
        declared = attribute
        name = attribute.name
        isOptional = attribute.isOptional
        isTransient = attribute.isTransient
        userInfo = attribute.userInfo
        renamingIdentifier = attribute.renamingIdentifier
        versionHashModifier = attribute.versionHashModifier
        isIndexedBySpotlight = attribute.isIndexedBySpotlight
        attributeType = NSAttributeType(rawValue: UInt(attribute.type.rawValue)) ?? .undefinedAttributeType
        explicitValueClassName = attribute.valueClassName
        defaultValue = AttributeCoding.value(attribute.defaultValue, of: attribute)
        valueTransformerName = attribute.valueTransformerName
        allowsExternalBinaryDataStorage = attribute.allowsExternalBinaryDataStorage
        preservesValueInHistoryOnDeletion = attribute.preservesValueInHistoryOnDeletion
        allowsCloudEncryption = attribute.allowsCloudEncryption
    }

    var value: Attribute {
        var attribute = declared
        attribute.name = name
        attribute.type = ManagedModel.AttributeType(rawValue: Int(attributeType.rawValue)) ?? .undefined
        attribute.isOptional = isOptional
        attribute.isTransient = isTransient
        attribute.defaultValue = AttributeCoding.stored(defaultValue, as: attribute.type) ?? .null
        attribute.userInfo = strings(of: userInfo)
        attribute.renamingIdentifier = explicitRenamingIdentifier
        attribute.versionHashModifier = versionHashModifier
        attribute.isIndexedBySpotlight = isIndexedBySpotlight
        attribute.valueClassName = explicitValueClassName
        attribute.valueTransformerName = valueTransformerName
        attribute.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
        attribute.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
        attribute.allowsCloudEncryption = allowsCloudEncryption
        return attribute
    }

    override var hashInput: [String] { super.hashInput + ["attribute", "\(attributeType.rawValue)"] }

    override func emptyCopy() -> NSPropertyDescription { NSAttributeDescription() }

    override func copyValues(from other: NSPropertyDescription) {
        super.copyValues(from: other)
        guard let other = other as? NSAttributeDescription else { return }
        declared = other.declared
        attributeType = other.attributeType
        defaultValue = other.defaultValue
        valueTransformerName = other.valueTransformerName
        allowsExternalBinaryDataStorage = other.allowsExternalBinaryDataStorage
        preservesValueInHistoryOnDeletion = other.preservesValueInHistoryOnDeletion
        allowsCloudEncryption = other.allowsCloudEncryption
        explicitValueClassName = other.explicitValueClassName
    }

    override func isSame(as other: NSPropertyDescription) -> Bool {
        guard let other = other as? NSAttributeDescription else { return false }
        return super.isSame(as: other) && value == other.value
    }

    /// Returns the description of an attribute, of the class for its kind.
    static func description(of attribute: Attribute, composites: [Composite]) -> NSAttributeDescription {
        if attribute.derivationExpression != nil { return NSDerivedAttributeDescription(attribute) }
        if attribute.type == .composite { return NSCompositeAttributeDescription(attribute, composites: composites) }
        return NSAttributeDescription(attribute)
    }
}

extension NSAttributeDescription {
    /// The type of an attribute in Swift's spelling. Raw values are those of `NSAttributeType`.
    public struct AttributeType: RawRepresentable, Hashable, Sendable {
        /// The raw value of ``NSAttributeType``.
        public let rawValue: UInt
        /// Creates a type from a raw value of ``NSAttributeType``.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        private init(_ type: NSAttributeType) { rawValue = type.rawValue }

        /// Not set.
        public static let undefined = Self(.undefinedAttributeType)
        /// A 16-bit integer.
        public static let integer16 = Self(.integer16AttributeType)
        /// A 32-bit integer.
        public static let integer32 = Self(.integer32AttributeType)
        /// A 64-bit integer.
        public static let integer64 = Self(.integer64AttributeType)
        /// A decimal number.
        public static let decimal = Self(.decimalAttributeType)
        /// A double-precision number.
        public static let double = Self(.doubleAttributeType)
        /// A single-precision number.
        public static let float = Self(.floatAttributeType)
        /// Text.
        public static let string = Self(.stringAttributeType)
        /// A Boolean.
        public static let boolean = Self(.booleanAttributeType)
        /// A date.
        public static let date = Self(.dateAttributeType)
        /// Bytes.
        public static let binaryData = Self(.binaryDataAttributeType)
        /// A UUID.
        public static let uuid = Self(.UUIDAttributeType)
        /// A URI.
        public static let uri = Self(.URIAttributeType)
        /// A value encoded by a value transformer.
        public static let transformable = Self(.transformableAttributeType)
        /// An object ID.
        public static let objectID = Self(.objectIDAttributeType)
        /// A composite of other attributes.
        public static let composite = Self(.compositeAttributeType)
    }

    /// The type of the attribute's values.
    public var type: AttributeType {
        get { AttributeType(rawValue: attributeType.rawValue) }
        set { attributeType = NSAttributeType(rawValue: newValue.rawValue) ?? .undefinedAttributeType }
    }
}

extension NSAttributeType {
    fileprivate var valueClassName: String? {
        switch self {
        case .undefinedAttributeType, .transformableAttributeType: nil
        case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .doubleAttributeType, .floatAttributeType,
            .booleanAttributeType:
            "NSNumber"
        case .decimalAttributeType: "NSDecimalNumber"
        case .stringAttributeType: "NSString"
        case .dateAttributeType: "NSDate"
        case .binaryDataAttributeType: "NSData"
        case .UUIDAttributeType: "NSUUID"
        case .URIAttributeType: "NSURL"
        case .objectIDAttributeType: "NSManagedObjectID"
        case .compositeAttributeType: "NSDictionary"
        }
    }
}
