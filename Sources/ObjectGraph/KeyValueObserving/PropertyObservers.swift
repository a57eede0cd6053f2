// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Observation
import Synchronization

/// The observers of one object: trackers of Observation and key-value observers. Unobserved objects have none.
final class PropertyObservers: @unchecked Sendable {
    // Unchecked: observations end on any thread, so names are behind a lock; other properties belong to the object's
    // queue.

    /// Created by the first read of an object with tracking enabled.
    var registrar: ObservationRegistrar?
    private let names = Mutex<[ObservedName]>([])
    /// Properties that change in several steps, reported as one.
    private var suppressed: Set<String> = []
    /// Changes announced manually that have not happened yet, newest last.
    private var announced: [String: [OpenChange]] = [:]

    /// A change between its announcement and its completion.
    struct OpenChange {
        var change: PropertyChange
        let completions: [(PropertyChange) -> Void]

        func finish() {
            for completion in completions { completion(change) }
        }
    }

    func add(_ name: ObservedName) { names.withLock { $0.append(name) } }

    func remove(_ observer: any PropertyObserver, where isRemoved: (ObservedName.Step) -> Bool = { _ in true }) {
        // Not released under the lock: handlers may retain anything.
        let removed = names.withLock { names in
            let removed = names.filter { $0.observer === observer && isRemoved($0.step) }
            names.removeAll { $0.observer === observer && isRemoved($0.step) }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    var isEmpty: Bool { names.withLock { $0.isEmpty } }
    /// The distinct observed properties, in the order they were first observed.
    var observedNames: [String] {
        names.withLock { $0.map(\.name) }.reduce(into: []) { list, name in if !list.contains(name) { list.append(name) } }
    }

    /// - Returns: nil if no observer observes the property.
    func begin(_ change: PropertyChange, sendsPrior: Bool = true) -> OpenChange? {
        guard !suppressed.contains(change.name) else { return nil }
        let affected = names.withLock { $0.filter { $0.name == change.name } }
        guard !affected.isEmpty else { return nil }
        return OpenChange(change: change, completions: affected.map { $0.observer.begin(change, at: $0.step, sendsPrior: sendsPrior) })
    }

    func withSuppressed(_ name: String, _ body: () -> Void) {
        let isOutermost = suppressed.insert(name).inserted
        body()
        if isOutermost { suppressed.remove(name) }
    }

    // MARK: Changes announced manually

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
