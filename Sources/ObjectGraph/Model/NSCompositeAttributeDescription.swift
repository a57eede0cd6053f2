// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// An attribute made of other attributes. Its value is a dictionary by their names; a store keeps each leaf in a column
/// of its own, and predicates reach it by a key path such as `home.city`.
///
/// Source: developer.apple.com/documentation/coredata/nscompositeattributedescription
open class NSCompositeAttributeDescription: NSAttributeDescription {
    /// Attributes, composite ones among them.
    open var elements: [NSAttributeDescription] = []

    public override init() {
        super.init()
        attributeType = .compositeAttributeType
    }

    init(_ attribute: Attribute, of model: Model) {
        super.init(attribute)
        elements = model.elements(of: attribute).map { NSAttributeDescription.make($0, of: model) }
    }

    override var value: Attribute {
        var attribute = super.value
        attribute.type = .composite
        attribute.elements = elements.map(\.value)
        return attribute
    }
}

extension NSAttributeDescription {
    static func make(_ attribute: Attribute, of model: Model) -> NSAttributeDescription {
        if attribute.type == .composite { return NSCompositeAttributeDescription(attribute, of: model) }
        return attribute.derivationExpression == nil ? NSAttributeDescription(attribute) : NSDerivedAttributeDescription(attribute)
    }
}
