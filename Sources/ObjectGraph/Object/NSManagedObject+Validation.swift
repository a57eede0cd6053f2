// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// What a model demands of values, checked before a save.
//
// Source: Core Data Programming Guide, "Object Validation"; codes from developer.apple.com/documentation/coredata/error_codes

extension NSManagedObject {
    /// - Throws: ``CocoaError`` of the violated rule, or 1560 with all of them under `NSDetailedErrorsKey`.
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
        try Self.throwCombined(errors)
    }

    final func validateDeletion() throws {
        var errors: [CocoaError] = []
        for (index, relationship) in layout.entity.toMany.enumerated() where relationship.declaration.deleteRule == .deny {
            if toManyObjects(index).contains(where: { !$0.isDeleted }) { errors.append(deniedDelete(relationship.name)) }
        }
        for (index, slot) in layout.entity.slots.enumerated() {
            guard case .toOne(let relationship) = slot, relationship.declaration.deleteRule == .deny else { continue }
            if let destination = toOne(index), !destination.isDeleted { errors.append(deniedDelete(relationship.name)) }
        }
        try Self.throwCombined(errors)
    }

    static func throwCombined(_ errors: [CocoaError]) throws {
        switch errors.count {
        case 0: return
        case 1: throw errors[0]
        default:
            let details = errors.flatMap { ($0.userInfo[NSDetailedErrorsKey] as? [CocoaError]) ?? [$0] }
            throw CocoaError(
                .validationMultipleErrors, sentence: details.map(\.localizedDescription).joined(separator: " "),
                userInfo: [NSDetailedErrorsKey: details])
        }
    }

    /// - Throws: ``CocoaError`` of the rule that a value would violate.
    final func check(_ value: Any?, forKey key: String) throws {
        switch location(of: key) {
        case .slot(let slot):
            switch layout.entity.slots[slot] {
            case .attribute(let attribute):
                guard let stored = AttributeCoding.stored(value, as: attribute.type) else {
                    throw violation(.managedObjectValidation, key, "is of type \(attribute.type) and cannot hold this value")
                }
                try Self.throwCombined(violations(of: attribute, by: stored))
            case .toOne(let relationship):
                if value == nil, !relationship.declaration.isOptional {
                    throw violation(.validationMissingMandatoryProperty, key, "has no value but is required")
                }
            }
        case .toMany(let index):
            let declaration = layout.entity.toMany[index].declaration
            let count = managedObjects(value, key: key).count
            if count == 0, !declaration.isOptional { throw violation(.validationMissingMandatoryProperty, key, "is empty but is required") }
            if count > 0, count < declaration.minimumCount {
                throw violation(.validationRelationshipLacksMinimumCount, key, "has fewer than \(declaration.minimumCount) members")
            }
            if declaration.maximumCount > 1, count > declaration.maximumCount {
                throw violation(.validationRelationshipExceedsMaximumCount, key, "has more than \(declaration.maximumCount) members")
            }
        }
    }

    private final func violations(of attribute: Attribute, by value: StoredValue) -> [CocoaError] {
        var errors: [CocoaError] = []
        func report(_ code: CocoaError.Code, _ what: String) { errors.append(violation(code, attribute.name, what)) }
        switch value {
        case .null:
            if !attribute.isOptional, !attribute.isTransient { report(.validationMissingMandatoryProperty, "has no value but is required") }
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
            // Apple counts what NSString counts: UTF-16 code units.
            let length = Double(value.utf16.count)
            if let bound = attribute.maximum, length > bound { report(.validationStringTooLong, "is longer than \(Int(bound))") }
            if let bound = attribute.minimum, length < bound { report(.validationStringTooShort, "is shorter than \(Int(bound))") }
            if let pattern = attribute.regularExpression, value.range(of: "^(?:\(pattern))$", options: .regularExpression) == nil {
                report(.validationStringPatternMatching, "does not match the model's pattern")
            }
        case .data, .uuid, .url, .reference:
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
        let isBounded = declaration.minimumCount > 0 || declaration.maximumCount > 1 || !declaration.isOptional
        // Counting fires the relationship; unbounded ones need not be counted.
        guard isBounded, isInserted || toMany[index].hasChanges else { return [] }
        let count = toManyKeys(index).count
        if count == 0 {
            return declaration.isOptional ? [] : [violation(.validationMissingMandatoryProperty, relationship.name, "is empty but is required")]
        }
        if count < declaration.minimumCount {
            return [violation(.validationRelationshipLacksMinimumCount, relationship.name, "has fewer than \(declaration.minimumCount) members")]
        }
        if declaration.maximumCount > 1, count > declaration.maximumCount {
            return [violation(.validationRelationshipExceedsMaximumCount, relationship.name, "has more than \(declaration.maximumCount) members")]
        }
        return []
    }

    private final func deniedDelete(_ name: String) -> CocoaError {
        violation(.validationRelationshipDeniedDelete, name, "still has members, and its delete rule is Deny")
    }

    private final func violation(_ code: CocoaError.Code, _ key: String, _ what: String) -> CocoaError {
        CocoaError(
            code, sentence: "\(layout.name).\(key) \(what).",
            userInfo: [NSValidationKeyErrorKey: key, NSValidationObjectErrorKey: self])
    }
}
