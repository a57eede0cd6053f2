// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
public import Observation

// Observation of properties. Reads of unobserved objects cost nothing more: the flag is tested together with those that
// every read tests.

extension NSManagedObject: Observable {
    /// One key path for each property: trackers only compare them.
    fileprivate subscript(observed name: String) -> Bool { flags.contains(.observed) && !name.isEmpty }

    /// Called by reads of an object that can be observed.
    final func noteRead(_ name: String) {
        let observers = makeObservers()
        let registrar = observers.registrar ?? ObservationRegistrar()
        observers.registrar = registrar
        registrar.access(self, keyPath: \NSManagedObject.[observed: name])
    }

    /// Brackets a change of one property.
    @inline(__always)
    final func observing(
        _ name: @autoclosure () -> String, _ mutation: @autoclosure () -> PropertyMutation = .setting, _ change: () -> Void
    ) {
        guard !flags.isDisjoint(with: .anyObserver) else { return change() }
        observed(name(), mutation(), change)
    }

    @inline(never)
    private final func observed(_ name: String, _ mutation: PropertyMutation, _ change: () -> Void) {
        // A part of a composite changed: the property is the composite.
        let property = layout.entity.composites.isEmpty ? name : String(name.prefix { $0 != "." })
        let open = beginChange(property, mutation)
        if flags.contains(.observed), let registrar = observers?.registrar {
            registrar.withMutation(of: self, keyPath: \NSManagedObject.[observed: name], change)
        } else {
            change()
        }
        if let open { finishChange(open) }
    }

    /// Called before all properties may change, as by a merge.
    ///
    /// - Parameter isLeaving: Whether the object leaves its context; key-value observers aren't notified then.
    @inline(__always)
    final func willChangeAll(isLeaving: Bool = false) {
        guard !flags.isDisjoint(with: .anyObserver) else { return }
        tellTrackersOfAll()
        if !isLeaving { noteReplacement() }
    }

    private final func tellTrackersOfAll() {
        guard flags.contains(.observed), let registrar = observers?.registrar else { return }
        for name in layout.entity.propertyNames {
            let keyPath = \NSManagedObject.[observed: name]
            registrar.willSet(self, keyPath: keyPath)
            registrar.didSet(self, keyPath: keyPath)
        }
    }

    /// No observer has seen a fault's values.
    private final func noteReplacement() {
        guard flags.contains(.keyValueObserved), flags.isDisjoint(with: [.fault, .detached]), let observers, !observers.isEmpty else {
            return
        }
        contextReference?.observedChanges.append(ReplacedValues(self, observers))
    }
}
