// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
public import PredicateKit

/// An attribute that the store computes at each save; objects see the value when they are read anew.
///
/// A store computes `now()`, `canonical:`, `lowercase:` and `uppercase:` of an attribute, an attribute over a to-one
/// relationship, and `@count`, `@sum`, `@avg`, `@min` and `@max` over a to-many one; it refuses other expressions.
///
/// Source: developer.apple.com/documentation/coredata/nsderivedattributedescription
open class NSDerivedAttributeDescription: NSAttributeDescription {
    open var derivationExpression: PredicateKit.NSExpression?

    public override init() { super.init() }

    override init(_ attribute: Attribute) {
        super.init(attribute)
        derivationExpression = attribute.derivationExpression.flatMap { text in
            (try? PredicateKit.Expression(format: text, [])).map { PredicateKit.NSExpression(tree: $0) }
        }
    }

    override var value: Attribute {
        var attribute = super.value
        if let derivationExpression { attribute.derivationExpression = derivationExpression.description }
        return attribute
    }
}
