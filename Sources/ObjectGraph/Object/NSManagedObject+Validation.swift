// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit

// The model's rules for values, checked before a save.
//
// Source: Core Data Programming Guide, "Object Validation"; codes from
// developer.apple.com/documentation/coredata/error_codes

extension NSManagedObject {
    /// - Throws: `CocoaError` of the violated rule, or 1560 with all of them under `NSDetailedErrorsKey`.
    final func validateProperties() throws {
        willRead()
        var errors: [CocoaError] = []
        for index in layout.checkedSlots {
            switch layout.entity.slots[index] {
            case .attribute(let attribute): errors += violations(of: attribute, by: values[index])
            case .toOne(let relationship):
                if !relationship.declaration.isOptional, values[index].isNull {
                    errors.append(violation(.validationMissingMandatoryProperty, relationship.name, "has no value but is required"))
                }
            }
        }
        for index in layout.checkedToMany { errors += violations(of: layout.entity.toMany[index], at: index) }
        for (name, checks) in layout.predicateChecks { errors += violations(of: checks, by: value(forKey: name), name) }
        if Self.validatesEachValue { errors += try overriddenViolations() }
        try Self.throwCombined(errors)
    }

    /// Errors of an override of ``validateValue(_:forKey:)`` beyond the model's rules. Sets values that it replaces.
    private final func overriddenViolations() throws -> [CocoaError] {
        var errors: [CocoaError] = []
        for slot in layout.entity.slots {
            let currentValue = value(forKey: slot.name)
            var value = currentValue.map { $0 as AnyObject }
            let passedValue = value
            do {
                try validateValue(&value, forKey: slot.name)
                if value !== passedValue { setValue(value, forKey: slot.name) }
            } catch let error as CocoaError {
                // The model's rules were checked already.
                if (try? check(passedValue, forKey: slot.name)) != nil { errors.append(error) }
            } catch {
                errors.append(
                    CocoaError(
                        CocoaError.Code(rawValue: (error as NSError).code), sentence: error.localizedDescription,
                        userInfo: [
                            NSUnderlyingErrorKey: error, NSValidationKeyErrorKey: slot.name, NSValidationObjectErrorKey: self,
                        ]))
            }
        }
        return errors
    }

    /// The model's rules for one property.
    final func check(_ value: Any?, forKey key: String) throws {
        guard let location = layout.entity.location(of: key) else { return }
        var errors: [CocoaError] = []
        switch location {
        case .slot(let slot):
            switch layout.entity.slots[slot] {
            case .attribute(let attribute):
                if let stored = AttributeCoding.stored(value, as: attribute.type) {
                    errors += violations(of: attribute, by: stored)
                } else {
                    errors.append(
                        violation(.managedObjectValidation, key, "cannot hold a \(value.map { "\(type(of: $0))" } ?? "nil")", value))
                }
            case .toOne(let relationship):
                if !relationship.declaration.isOptional, value == nil || value is NSNull {
                    errors.append(violation(.validationMissingMandatoryProperty, key, "has no value but is required"))
                }
            }
        case .toMany(let index):
            let count = (value as? NSSet)?.count ?? (value as? NSOrderedSet)?.count ?? (value as? [Any])?.count ?? 0
            errors += violations(of: layout.entity.toMany[index], count: count)
        }
        for (name, checks) in layout.predicateChecks where name == key { errors += violations(of: checks, by: value, name) }
        try Self.throwCombined(errors)
    }

    private final func violations(
        of checks: [(predicate: NSPredicate, warning: Any?)], by value: Any?, _ name: String
    ) -> [CocoaError] {
        // Another rule reports a missing value.
        guard let value, !(value is NSNull) else { return [] }
        return checks.filter { !$0.predicate.evaluate(with: value) }.map { check in
            let number = (check.warning as? NSNumber)?.intValue ?? (check.warning as? String).flatMap { Int($0) }
            let code = number.map { CocoaError.Code(rawValue: $0) } ?? .managedObjectValidation
            let text = number == nil ? check.warning as? String : nil
            return CocoaError(
                code, sentence: text ?? "\(layout.name).\(name) does not match the model's condition.",
                userInfo: [
                    NSValidationKeyErrorKey: name, NSValidationObjectErrorKey: self, NSValidationValueErrorKey: value,
                    NSValidationPredicateErrorKey: check.predicate,
                ])
        }
    }

    final func validateDeletion() throws {
        var errors: [CocoaError] = []
        for (index, relationship) in layout.entity.toMany.enumerated() where relationship.declaration.deleteRule == .deny {
            if toManyObjects(index).contains(where: { !$0.isMarkedDeleted }) { errors.append(deniedDelete(relationship.name)) }
        }
        for (index, slot) in layout.entity.slots.enumerated() {
            guard case .toOne(let relationship) = slot, relationship.declaration.deleteRule == .deny else { continue }
            if let destination = toOne(index), !destination.isMarkedDeleted { errors.append(deniedDelete(relationship.name)) }
        }
        try Self.throwCombined(errors)
    }

    /// Throws the only error, or 1560 with all of them. Overrides of the validation methods throw errors of any type.
    ///
    /// Source: Core Data Programming Guide, "Object Validation" (combining validation errors).
    static func throwCombined(_ errors: [any Error]) throws {
        switch errors.count {
        case 0: return
        case 1: throw errors[0]
        default:
            let details = errors.flatMap { parts(of: $0) }
            let cocoaErrors = details.compactMap { $0 as? CocoaError }
            let list: Any
            if cocoaErrors.count == details.count { list = cocoaErrors } else { list = details.map { $0 as NSError } }
            throw CocoaError(
                .validationMultipleErrors, sentence: details.map { $0.localizedDescription }.joined(separator: " "),
                userInfo: [NSDetailedErrorsKey: list])
        }
    }

    /// Returns the errors that a combined error lists. An app's override may combine its errors in an `NSError`, which
    /// casts to no `CocoaError` on Linux.
    private static func parts(of error: any Error) -> [any Error] {
        let userInfo = (error as? CocoaError)?.userInfo ?? (error as NSError).userInfo
        guard (error as NSError).code == CocoaError.Code.validationMultipleErrors.rawValue,
            let details = userInfo[NSDetailedErrorsKey] as? [any Error]
        else { return [error] }
        return details
    }

    private final func violations(of attribute: Attribute, by value: StoredValue) -> [CocoaError] {
        var errors: [CocoaError] = []
        func report(_ code: CocoaError.Code, _ explanation: String) {
            errors.append(violation(code, attribute.name, explanation, AttributeCoding.value(value, of: attribute)))
        }
        switch value {
        case .null:
            // The store computes a derived value when it saves.
            if !attribute.isOptional, attribute.derivationExpression == nil {
                report(.validationMissingMandatoryProperty, "has no value but is required")
            }
        case .int(let value):
            checkNumber(Double(value), attribute, report)
        case .double(let value):
            checkNumber(value, attribute, report)
        case .decimal(let value):
            checkNumber(NSDecimalNumber(decimal: value).doubleValue, attribute, report)
        case .date(let value):
            if let bound = attribute.maximum, value > bound { report(.validationDateTooLate, "is later than the model allows") }
            if let bound = attribute.minimum, value < bound { report(.validationDateTooSoon, "is earlier than the model allows") }
        case .string(let value):
            // Apple counts as NSString does: in UTF-16 code units.
            let length = Double(value.utf16.count)
            if let bound = attribute.maximum, length > bound { report(.validationStringTooLong, "is longer than \(Int(bound))") }
            if let bound = attribute.minimum, length < bound { report(.validationStringTooShort, "is shorter than \(Int(bound))") }
            if let pattern = attribute.regularExpression, (try? StringMatching.matches(value, .matches, pattern, [])) != true {
                report(.validationStringPatternMatching, "does not match the model's pattern")
            }
        case .data, .uuid, .url, .reference, .object:
            break
        }
        return errors
    }

    private final func checkNumber(_ value: Double, _ attribute: Attribute, _ report: (CocoaError.Code, String) -> Void) {
        if let bound = attribute.maximum, value > bound { report(.validationNumberTooLarge, "is larger than \(bound)") }
        if let bound = attribute.minimum, value < bound { report(.validationNumberTooSmall, "is smaller than \(bound)") }
    }

    private final func violations(of relationship: ResolvedRelationship, at index: Int) -> [CocoaError] {
        let declaration = relationship.declaration
        let isBounded = declaration.minimumCount > 0 || declaration.maximumCount > 1
        // Counting fires the relationship; unbounded ones need no count.
        guard isBounded, isMarkedInserted || toMany[index].hasChanges else { return [] }
        return violations(of: relationship, count: toManyKeys(index).count)
    }

    private final func violations(of relationship: ResolvedRelationship, count: Int) -> [CocoaError] {
        let declaration = relationship.declaration
        if count == 0 {
            // A required relationship may be empty unless the model sets a minimum count (seen in public test suites that
            // save such objects with Apple's framework).
            return declaration.isOptional || declaration.minimumCount == 0
                ? [] : [violation(.validationMissingMandatoryProperty, relationship.name, "is empty but is required")]
        }
        if count < declaration.minimumCount {
            return [
                violation(.validationRelationshipLacksMinimumCount, relationship.name, "has fewer than \(declaration.minimumCount) members")
            ]
        }
        if declaration.maximumCount > 1, count > declaration.maximumCount {
            return [
                violation(
                    .validationRelationshipExceedsMaximumCount, relationship.name, "has more than \(declaration.maximumCount) members")
            ]
        }
        return []
    }

    private final func deniedDelete(_ name: String) -> CocoaError {
        violation(.validationRelationshipDeniedDelete, name, "still has members, and its delete rule is Deny")
    }

    private final func violation(_ code: CocoaError.Code, _ key: String, _ explanation: String, _ value: Any? = nil) -> CocoaError {
        var userInfo: [String: Any] = [NSValidationKeyErrorKey: key, NSValidationObjectErrorKey: self]
        userInfo[NSValidationValueErrorKey] = value
        return CocoaError(code, sentence: "\(layout.name).\(key) \(explanation).", userInfo: userInfo)
    }
}
