// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Raw values are Apple's.
public enum NSAttributeType: UInt, Sendable {
    case undefinedAttributeType = 0
    case integer16AttributeType = 100
    case integer32AttributeType = 200
    case integer64AttributeType = 300
    case decimalAttributeType = 400
    case doubleAttributeType = 500
    case floatAttributeType = 600
    case stringAttributeType = 700
    case booleanAttributeType = 800
    case dateAttributeType = 900
    case binaryDataAttributeType = 1000
    case UUIDAttributeType = 1100
    case URIAttributeType = 1200
    case transformableAttributeType = 1800
    case objectIDAttributeType = 2000
    case compositeAttributeType = 2100
}

/// A property that holds a value.
///
/// Source: developer.apple.com/documentation/coredata/nsattributedescription
open class NSAttributeDescription: NSPropertyDescription {
    open var attributeType: NSAttributeType = .undefinedAttributeType { willSet { preconditionIsMutable() } }
    open var defaultValue: Any? { willSet { preconditionIsMutable() } }
    open var valueTransformerName: String? { willSet { preconditionIsMutable() } }
    open var allowsExternalBinaryDataStorage = false { willSet { preconditionIsMutable() } }
    open var preservesValueInHistoryOnDeletion = false { willSet { preconditionIsMutable() } }
    open var allowsCloudEncryption = false { willSet { preconditionIsMutable() } }
    private var explicitValueClassName: String?
    /// What the API does not show (bounds, scalar types) stays as the model file had it.
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
        take(attribute)
    }

    func take(_ attribute: Attribute) {
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

    override func take(_ other: NSPropertyDescription) {
        super.take(other)
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

    /// The description of an attribute, of the class that says what kind it is.
    static func description(of attribute: Attribute, composites: [Composite]) -> NSAttributeDescription {
        if attribute.derivationExpression != nil { return NSDerivedAttributeDescription(attribute) }
        if attribute.type == .composite { return NSCompositeAttributeDescription(attribute, composites: composites) }
        return NSAttributeDescription(attribute)
    }
}

extension NSAttributeDescription {
    /// The type of an attribute, as Swift spells it. Raw values are those of `NSAttributeType`.
    public struct AttributeType: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        private init(_ type: NSAttributeType) { rawValue = type.rawValue }

        public static let undefined = Self(.undefinedAttributeType)
        public static let integer16 = Self(.integer16AttributeType)
        public static let integer32 = Self(.integer32AttributeType)
        public static let integer64 = Self(.integer64AttributeType)
        public static let decimal = Self(.decimalAttributeType)
        public static let double = Self(.doubleAttributeType)
        public static let float = Self(.floatAttributeType)
        public static let string = Self(.stringAttributeType)
        public static let boolean = Self(.booleanAttributeType)
        public static let date = Self(.dateAttributeType)
        public static let binaryData = Self(.binaryDataAttributeType)
        public static let uuid = Self(.UUIDAttributeType)
        public static let uri = Self(.URIAttributeType)
        public static let transformable = Self(.transformableAttributeType)
        public static let objectID = Self(.objectIDAttributeType)
        public static let composite = Self(.compositeAttributeType)
    }

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
