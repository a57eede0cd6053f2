// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Observation
import Synchronization

/// What observes one object's properties: Observation's trackers and key-value observers. Objects that nothing observes have none.
final class PropertyObservers: @unchecked Sendable {
    // Unchecked: observations end on any thread, so names are behind a lock. The rest belongs to the object's queue.

    /// Made by the first read of an object that can be tracked.
    var registrar: ObservationRegistrar?
    private let names = Mutex<[ObservedName]>([])
    /// Properties that are changed in several steps of which observers see one.
    private var suppressed: Set<String> = []
    /// Changes that were announced by hand and have not happened, the latest last.
    private var announced: [String: [OpenChange]] = [:]

    /// A change between its two announcements.
    struct OpenChange {
        var change: PropertyChange
        let completions: [(PropertyChange) -> Void]

        func finish() {
            for completion in completions { completion(change) }
        }
    }

    func add(_ name: ObservedName) { names.withLock { $0.append(name) } }

    func remove(_ observer: any PropertyObserver, where isRemoved: (ObservedName.Place) -> Bool = { _ in true }) {
        // Not released under the lock: handlers may hold anything.
        let removed = names.withLock { names in
            let removed = names.filter { $0.observer === observer && isRemoved($0.place) }
            names.removeAll { $0.observer === observer && isRemoved($0.place) }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    var isEmpty: Bool { names.withLock { $0.isEmpty } }
    /// Each observed property once, in the order in which they were first observed.
    var observedNames: [String] {
        names.withLock { $0.map(\.name) }.reduce(into: []) { list, name in if !list.contains(name) { list.append(name) } }
    }

    /// - Returns: nil if nothing observes the property.
    func begin(_ change: PropertyChange, sendsPrior: Bool = true) -> OpenChange? {
        guard !suppressed.contains(change.name) else { return nil }
        let affected = names.withLock { $0.filter { $0.name == change.name } }
        guard !affected.isEmpty else { return nil }
        return OpenChange(change: change, completions: affected.map { $0.observer.begin(change, at: $0.place, sendsPrior: sendsPrior) })
    }

    func withSuppressed(_ name: String, _ body: () -> Void) {
        let isOutermost = suppressed.insert(name).inserted
        body()
        if isOutermost { suppressed.remove(name) }
    }

    // MARK: Changes announced by hand

    func announce(_ change: PropertyChange) {
        guard let open = begin(change) else { return }
        announced[change.name, default: []].append(open)
    }

    /// - Returns: nil for a change that was not announced.
    func takeAnnounced(_ name: String) -> OpenChange? {
        defer { if announced[name]?.isEmpty == true { announced[name] = nil } }
        return announced[name]?.popLast()
    }
}
