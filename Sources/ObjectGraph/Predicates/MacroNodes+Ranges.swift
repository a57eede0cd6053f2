// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit

/// A range in a macro's tree, or the value of one.
private protocol MacroRange {
    func bounds(_ reader: inout MacroReader) throws -> (
        low: PredicateKit.Expression, high: PredicateKit.Expression, includesHigh: Bool
    )
}

extension PredicateExpressions.Range: MacroRange {
    fileprivate func bounds(_ reader: inout MacroReader) throws -> (
        low: PredicateKit.Expression, high: PredicateKit.Expression, includesHigh: Bool
    ) {
        (try reader.value(lower), try reader.value(upper), false)
    }
}

extension PredicateExpressions.ClosedRange: MacroRange {
    fileprivate func bounds(_ reader: inout MacroReader) throws -> (
        low: PredicateKit.Expression, high: PredicateKit.Expression, includesHigh: Bool
    ) {
        (try reader.value(lower), try reader.value(upper), true)
    }
}

private protocol RangeValue {
    var limits: (low: Any, high: Any, includesHigh: Bool) { get }
}

extension Range: RangeValue {
    fileprivate var limits: (low: Any, high: Any, includesHigh: Bool) { (lowerBound, upperBound, false) }
}

extension ClosedRange: RangeValue {
    fileprivate var limits: (low: Any, high: Any, includesHigh: Bool) { (lowerBound, upperBound, true) }
}

extension PredicateExpressions.Value: MacroRange {
    fileprivate func bounds(_ reader: inout MacroReader) throws -> (
        low: PredicateKit.Expression, high: PredicateKit.Expression, includesHigh: Bool
    ) {
        guard let limits = (value as? any RangeValue)?.limits else { throw MacroReader.Unreadable() }
        let (low, high) = (PredicateValue(limits.low), PredicateValue(limits.high))
        return (.constant(low), .constant(high), limits.includesHigh)
    }
}

extension PredicateExpressions.RangeExpressionContains: MacroNode {
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        guard let range = range as? any MacroRange else { throw MacroReader.Unreadable() }
        let (low, high, includesHigh) = try range.bounds(&reader)
        let value = try reader.value(element)
        return .condition(
            .and([
                .comparison(Comparison(value, .greaterThanOrEqualTo, low)),
                .comparison(Comparison(value, includesHigh ? .lessThanOrEqualTo : .lessThan, high)),
            ]))
    }
}

extension PredicateExpressions.TypeCheck: MacroNode {
    /// An object has a class if its entity is one of the class's entity and its subentities.
    func read(_ reader: inout MacroReader) throws -> MacroReader.Node {
        guard let type = Desired.self as? NSManagedObject.Type, let layout = KeyPathProbe.layout(of: type),
            let layouts = try layout.model?.freeze().layouts
        else { throw MacroReader.Unreadable() }
        let names = layout.entity.hierarchy.map { PredicateValue.string(layouts[$0].name) }
        let name = try reader.value(input).appending(["entity", "name"])
        return .condition(.comparison(Comparison(name, .in, .constant(.list(names)))))
    }
}
