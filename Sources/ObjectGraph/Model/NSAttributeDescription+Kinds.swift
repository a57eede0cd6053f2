// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
public import PredicateKit

/// An attribute that the store computes at each save.
///
/// Source: developer.apple.com/documentation/coredata/nsderivedattributedescription
open class NSDerivedAttributeDescription: NSAttributeDescription {
    /// The expression as model files spell it.
    package var derivationFormat: String? { willSet { preconditionIsMutable() } }

    /// The computed expression, such as `canonical:(name)` or `items.@count`; nil if a model file's text isn't an
    /// expression.
    open var derivationExpression: PredicateKit.NSExpression? {
        get { derivationFormat.flatMap { try? PredicateKit.NSExpression(tree: PredicateKit.Expression(format: $0)) } }
        set { derivationFormat = newValue?.description }
    }

    public override init() { super.init() }

    override init(_ attribute: Attribute) {
        super.init(attribute)
        derivationFormat = attribute.derivationExpression
    }

    override var value: Attribute {
        var attribute = super.value
        attribute.derivationExpression = derivationFormat
        return attribute
    }

    override var hashInput: [String] { super.hashInput + ["derived", derivationFormat ?? ""] }

    override func emptyCopy() -> NSPropertyDescription { NSDerivedAttributeDescription() }

    override func copyValues(from other: NSPropertyDescription) {
        super.copyValues(from: other)
        derivationFormat = (other as? NSDerivedAttributeDescription)?.derivationFormat
    }
}

/// An attribute that consists of others, which may be composites themselves.
///
/// Source: developer.apple.com/documentation/coredata/nscompositeattributedescription
open class NSCompositeAttributeDescription: NSAttributeDescription {
    /// The attributes of the composite.
    open var elements: [NSAttributeDescription] = [] {
        willSet { preconditionIsMutable() }
    }

    public override init() {
        super.init()
        attributeType = .compositeAttributeType
    }

    override init(_ attribute: Attribute) { super.init(attribute) }

    convenience init(_ attribute: Attribute, composites: [Composite]) {
        self.init(attribute)
        let composite = composites.first { $0.name == attribute.compositeName }
        // The model's checks reject a composite that contains itself; until then it must not recurse endlessly.
        let remainingComposites = composites.filter { $0.name != attribute.compositeName }
        elements = (composite?.attributes ?? []).map { NSAttributeDescription.description(of: $0, composites: remainingComposites) }
    }

    /// The name of the elements' composite in the model.
    func compositeName(_ owner: String) -> String { declared.compositeName ?? "\(owner).\(name)" }

    func value(owner: String) -> Attribute {
        var attribute = super.value
        attribute.compositeName = compositeName(owner)
        return attribute
    }

    override var value: Attribute { value(owner: entity?.name ?? "") }

    /// This composite and its nested ones.
    func composites(owner: String) -> [Composite] {
        let own = compositeName(owner)
        let members = elements.map { ($0 as? NSCompositeAttributeDescription)?.value(owner: own) ?? $0.value }
        return [Composite(name: own, attributes: members)]
            + elements.flatMap { ($0 as? NSCompositeAttributeDescription)?.composites(owner: own) ?? [] }
    }

    override var hashInput: [String] { super.hashInput + elements.flatMap(\.hashInput) }

    override func emptyCopy() -> NSPropertyDescription { NSCompositeAttributeDescription() }

    override func copyValues(from other: NSPropertyDescription) {
        super.copyValues(from: other)
        guard let other = other as? NSCompositeAttributeDescription else { return }
        elements = other.elements.map { element in
            let copy = element.emptyCopy()
            copy.copyValues(from: element)
            guard let copy = copy as? NSAttributeDescription else { preconditionFailure("a copy is of its original's class") }
            return copy
        }
    }
}
