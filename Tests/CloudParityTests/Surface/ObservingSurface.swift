// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Observing.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct ObservingSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSKeyValueObservingOptions.new", NSKeyValueObservingOptions.new, 1)
        expectDocumented("NSKeyValueObservingOptions.old", NSKeyValueObservingOptions.old, 2)
        expectDocumented("NSKeyValueObservingOptions.initial", NSKeyValueObservingOptions.initial, 4)
        expectDocumented("NSKeyValueObservingOptions.prior", NSKeyValueObservingOptions.prior, 8)
        expectDocumented("NSKeyValueChange.setting", NSKeyValueChange.setting, 1)
        expectDocumented("NSKeyValueChange.insertion", NSKeyValueChange.insertion, 2)
        expectDocumented("NSKeyValueChange.removal", NSKeyValueChange.removal, 3)
        expectDocumented("NSKeyValueChange.replacement", NSKeyValueChange.replacement, 4)
        expectDocumented("NSKeyValueSetMutationKind.union", NSKeyValueSetMutationKind.union, 1)
        expectDocumented("NSKeyValueSetMutationKind.minus", NSKeyValueSetMutationKind.minus, 2)
        expectDocumented("NSKeyValueSetMutationKind.intersect", NSKeyValueSetMutationKind.intersect, 3)
        expectDocumented("NSKeyValueSetMutationKind.set", NSKeyValueSetMutationKind.set, 4)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSKeyValueObservation()
        Self.usesNSKeyValueObservedChangeInt()
        Self.usesNSManagedObjectExtension()
        Self.usesNSKeyValueObservingOptions()
        Self.usesNSKeyValueChange()
        Self.usesNSKeyValueSetMutationKind()
    }

    private static func usesNSKeyValueObservation() {
        _ = { (x: NSKeyValueObservation) -> NSObject in x }
        _ = { (x: NSKeyValueObservation) -> Void in x.invalidate() }
    }

    private static func usesNSKeyValueObservedChangeInt() {
        _ = NSKeyValueObservedChange<Int>.self
        _ = { (x: [NSKeyValueObservedChange<Int>.Kind]) -> [NSKeyValueChange] in x }
        let _: KeyPath<NSKeyValueObservedChange<Int>, NSKeyValueChange> = \.kind
        let _: KeyPath<NSKeyValueObservedChange<Int>, Int?> = \.newValue
        let _: KeyPath<NSKeyValueObservedChange<Int>, Int?> = \.oldValue
        let _: KeyPath<NSKeyValueObservedChange<Int>, IndexSet?> = \.indexes
        let _: KeyPath<NSKeyValueObservedChange<Int>, Bool> = \.isPrior
    }

    private static func usesNSManagedObjectExtension() {
        _ = { (x: NSManagedObject, a0: KeyPath<NSManagedObject, Bool>, a1: NSKeyValueObservingOptions, a2: @escaping (NSManagedObject, NSKeyValueObservedChange<Bool>) -> Void) -> NSKeyValueObservation in x.observe(a0, options: a1, changeHandler: a2) }
        _ = { (x: NSManagedObject, a0: KeyPath<NSManagedObject, Bool>, a2: @escaping (NSManagedObject, NSKeyValueObservedChange<Bool>) -> Void) -> NSKeyValueObservation in x.observe(a0, changeHandler: a2) }
        _ = { (x: NSManagedObject, a0: KeyPath<NSManagedObject, Bool>) -> Void in x.willChangeValue(for: a0) }
        _ = { (x: NSManagedObject, a0: KeyPath<NSManagedObject, Bool>) -> Void in x.didChangeValue(for: a0) }
        _ = { (x: NSManagedObject, a0: NSKeyValueChange, a1: IndexSet, a2: KeyPath<NSManagedObject, Bool>) -> Void in x.willChange(a0, valuesAt: a1, for: a2) }
        _ = { (x: NSManagedObject, a0: NSKeyValueChange, a1: IndexSet, a2: KeyPath<NSManagedObject, Bool>) -> Void in x.didChange(a0, valuesAt: a1, for: a2) }
        _ = { (x: NSManagedObject, a0: String) -> Void in x.willChangeValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: String) -> Void in x.didChangeValue(forKey: a0) }
        _ = { (x: NSManagedObject, a0: NSKeyValueChange, a1: IndexSet, a2: String) -> Void in x.willChange(a0, valuesAt: a1, forKey: a2) }
        _ = { (x: NSManagedObject, a0: NSKeyValueChange, a1: IndexSet, a2: String) -> Void in x.didChange(a0, valuesAt: a1, forKey: a2) }
        _ = { (x: NSManagedObject, a0: String, a1: NSKeyValueSetMutationKind, a2: Set<AnyHashable>) -> Void in x.willChangeValue(forKey: a0, withSetMutation: a1, using: a2) }
        _ = { (x: NSManagedObject, a0: String, a1: NSKeyValueSetMutationKind, a2: Set<AnyHashable>) -> Void in x.didChangeValue(forKey: a0, withSetMutation: a1, using: a2) }
    }

    private static func usesNSKeyValueObservingOptions() {
        _ = NSKeyValueObservingOptions.self
        _ = { () -> NSKeyValueObservingOptions in NSKeyValueObservingOptions.new }
        _ = { () -> NSKeyValueObservingOptions in NSKeyValueObservingOptions.old }
        _ = { () -> NSKeyValueObservingOptions in NSKeyValueObservingOptions.initial }
        _ = { () -> NSKeyValueObservingOptions in NSKeyValueObservingOptions.prior }
    }

    private static func usesNSKeyValueChange() {
        _ = NSKeyValueChange.self
        _ = { () -> NSKeyValueChange in .setting }
        _ = { () -> NSKeyValueChange in .insertion }
        _ = { () -> NSKeyValueChange in .removal }
        _ = { () -> NSKeyValueChange in .replacement }
    }

    private static func usesNSKeyValueSetMutationKind() {
        _ = NSKeyValueSetMutationKind.self
        _ = { () -> NSKeyValueSetMutationKind in .union }
        _ = { () -> NSKeyValueSetMutationKind in .minus }
        _ = { () -> NSKeyValueSetMutationKind in .intersect }
        _ = { () -> NSKeyValueSetMutationKind in .set }
    }
}
