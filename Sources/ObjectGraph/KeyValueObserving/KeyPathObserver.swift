// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// One call of `observe(_:options:changeHandler:)`.
///
/// It registers with the object and, for a path through relationships, with each object on the path. When such a
/// relationship changes, it registers with the new objects instead.
final class KeyPathObserver<Root: NSManagedObject, Value>: PropertyObserver, @unchecked Sendable {
    // Unchecked: the steps are behind a lock; other properties are constant, and used on the root's queue.
    typealias Change = NSKeyValueObservedChange<Value>

    private struct Step: @unchecked Sendable {
        // Unchecked: off the queue, steps are only released.
        let place: ObservedName.Step
        let observers: PropertyObservers
        /// Retains objects on the path; nil for the root, which the observation does not retain.
        let object: NSManagedObject?
    }

    private weak var root: Root?
    private let keyPath: KeyPath<Root, Value>
    private let options: NSKeyValueObservingOptions
    private let handler: (Root, Change) -> Void
    private let paths: [[String]]
    /// nil once the observation has ended.
    private let steps = Mutex<[Step]?>([])

    init(
        _ root: Root, _ keyPath: KeyPath<Root, Value>, paths: [[String]], options: NSKeyValueObservingOptions,
        handler: @escaping (Root, Change) -> Void
    ) {
        (self.root, self.keyPath, self.paths, self.options, self.handler) = (root, keyPath, paths, options, handler)
    }

    func start() {
        guard let root else { return }
        KeyValueObservers.count.add(1, ordering: .relaxed)
        for path in paths.indices { link(root, ObservedName.Step(path: path, depth: 0)) }
        if options.contains(.initial) { handler(root, Change(kind: .setting, new: options.contains(.new) ? value() : nil)) }
    }

    private var isValid: Bool { steps.withLock { $0 != nil } }

    func invalidate() {
        let ended = steps.withLock { $0.take() }
        guard let ended else { return }
        KeyValueObservers.count.subtract(1, ordering: .relaxed)
        for step in ended { step.observers.remove(self) }
    }

    // MARK: Objects on the path

    private func link(_ object: NSManagedObject, _ place: ObservedName.Step) {
        let names = paths[place.path]
        let observers = object.observersForKeyValues()
        let step = Step(place: place, observers: observers, object: place.depth == 0 ? nil : object)
        let isLinked = steps.withLock { steps in
            steps?.append(step)
            return steps != nil
        }
        guard isLinked else { return }
        observers.add(ObservedName(name: names[place.depth], step: place, observer: self))
        guard place.depth + 1 < names.count, let next = object.readProperty(names[place.depth]) as? NSManagedObject else { return }
        link(next, ObservedName.Step(path: place.path, depth: place.depth + 1))
    }

    private func relink(behind place: ObservedName.Step, _ object: NSManagedObject) {
        func isBehind(_ other: ObservedName.Step) -> Bool { other.path == place.path && other.depth > place.depth }
        let leavingSteps = steps.withLock { steps in
            let leavingSteps = (steps ?? []).filter { isBehind($0.place) }
            steps?.removeAll { isBehind($0.place) }
            return leavingSteps
        }
        for step in leavingSteps { step.observers.remove(self, where: isBehind) }
        let name = paths[place.path][place.depth]
        guard let next = object.readProperty(name) as? NSManagedObject else { return }
        link(next, ObservedName.Step(path: place.path, depth: place.depth + 1))
    }

    // MARK: Changes

    func begin(_ change: PropertyChange, at place: ObservedName.Step, sendsPrior: Bool) -> (PropertyChange) -> Void {
        let keepsKind = paths.count == 1 && paths[0].count == place.depth + 1 && Self.holdsMembers
        let old: Value? =
            switch (options.contains(.old), keepsKind ? change.kind : .setting) {
            case (false, _), (true, .insertion): nil
            case (true, .removal): Self.value(of: change)
            case (true, _): value()
            }
        if sendsPrior, options.contains(.prior), isValid, let root {
            handler(root, Change(kind: keepsKind ? change.kind : .setting, old: old, indexes: change.indexes, isPrior: true))
        }
        return { [self] finished in
            guard isValid, let root else { return }
            if place.depth + 1 < paths[place.path].count { relink(behind: place, finished.object) }
            let kind = keepsKind ? finished.kind : .setting
            let new: Value? =
                switch (options.contains(.new), kind) {
                case (false, _), (true, .removal): nil
                case (true, .insertion), (true, .replacement): Self.value(of: finished)
                case (true, .setting): value()
                }
            handler(root, Change(kind: kind, new: new, old: old, indexes: keepsKind ? finished.indexes : nil))
        }
    }

    /// The current value. A required property that is still nil has no value to report.
    private func value() -> Value? {
        guard let root else { return nil }
        if paths.count == 1, paths[0].count == 1, root.readProperty(paths[0][0]) == nil { return Any?.none as? Value }
        return root[keyPath: keyPath]
    }

    private static func value(of change: PropertyChange) -> Value? {
        change.indexes == nil
            ? NSSet(array: change.members) as? Value
            : (NSOrderedSet(array: change.members) as? Value) ?? (NSSet(array: change.members) as? Value)
    }

    /// Whether the property's type can be a set of members.
    private static var holdsMembers: Bool { NSSet() as? Value != nil || NSOrderedSet() as? Value != nil }
}

extension NSKeyValueObservedChange {
    fileprivate init(kind: Kind, new: Value? = nil, old: Value? = nil, indexes: IndexSet? = nil, isPrior: Bool = false) {
        self.init(kind: kind, newValue: new, oldValue: old, indexes: indexes, isPrior: isPrior)
    }
}

enum KeyValueObservers {
    /// The number of observations in the process: without any, contexts skip the delivery of changes.
    static let count = Atomic<Int>(0)
}
