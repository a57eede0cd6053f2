// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
public import Observation

// Observation of properties. Reading costs ordinary objects nothing: a context's objects carry a flag that is tested
// together with those that every read tests anyway.

extension NSManagedObject: Observable {
    /// One key path for each property: trackers only compare them.
    fileprivate subscript(observed name: String) -> Bool { flags.contains(.observed) && !name.isEmpty }

    /// Called by reads of an object that can be observed.
    final func noteRead(_ name: String) {
        if observation == nil { observation = ObservationRegistrar() }
        observation?.access(self, keyPath: \NSManagedObject.[observed: name])
    }

    /// Brackets a change of one property.
    @inline(__always)
    final func observing(_ name: @autoclosure () -> String, _ change: () -> Void) {
        guard flags.contains(.observed), let observation else { return change() }
        observation.withMutation(of: self, keyPath: \NSManagedObject.[observed: name()], change)
    }

    /// Called before all properties may change at once, as by a merge.
    @inline(__always)
    final func willChangeAll() {
        if flags.contains(.observed), observation != nil { tellObserversOfAll() }
    }

    private final func tellObserversOfAll() {
        guard let observation else { return }
        for name in layout.entity.propertyNames {
            let keyPath = \NSManagedObject.[observed: name]
            observation.willSet(self, keyPath: keyPath)
            observation.didSet(self, keyPath: keyPath)
        }
    }
}
