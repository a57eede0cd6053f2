// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// Gives `observe(_:options:changeHandler:)` the type `Self`, so that its handler receives the object as its own class.
public protocol _KeyValueCodingAndObserving: NSManagedObject {}

extension NSManagedObject: _KeyValueCodingAndObserving {}

extension _KeyValueCodingAndObserving {
    /// Calls a handler whenever a property changes: by an accessor, key-value coding, the inverse relationship, undo, rollback,
    /// a refresh or a merge, or when `didChangeValue(forKey:)` announces it.
    ///
    /// ```swift
    /// observation = note.observe(\.title, options: [.old, .new]) { note, change in
    ///     print(change.oldValue ?? nil, change.newValue ?? nil)
    /// }
    /// ```
    ///
    /// The handler is called on the context's queue. Neither the observation nor the handler's registration retains the
    /// object: hold the object while it is observed, or its context releases it.
    ///
    /// - Parameters:
    ///   - keyPath: A modelled property, a path through to-one relationships, or a computed property, which changes with the
    ///     modelled ones that it reads.
    ///   - options: The contents of changes, and whether the handler is also called initially or before changes.
    /// - Returns: The observation, which ends when it is released.
    ///
    /// Differs: Apple notifies observers of computed properties if their class has `keyPathsForValuesAffectingValue(forKey:)`.
    ///
    /// Source: developer.apple.com/documentation/swift/using-key-value-observing-in-swift
    public func observe<Value>(
        _ keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [],
        changeHandler: @escaping (Self, NSKeyValueObservedChange<Value>) -> Void
    ) -> NSKeyValueObservation {
        let observer = KeyPathObserver(
            self, keyPath, paths: KeyPathProbe.paths(read: keyPath, of: self), options: options, handler: changeHandler)
        observer.start()
        return NSKeyValueObservation(observer)
    }

    // Counterparts of the methods that take keys.

    /// Announces a change. Call ``didChangeValue(for:)`` after it.
    public func willChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
        for key in keys(keyPath) { willChangeValue(forKey: key) }
    }

    /// Ends a change announced by ``willChangeValue(for:)``.
    public func didChangeValue<Value>(for keyPath: KeyPath<Self, Value>) {
        for key in keys(keyPath) { didChangeValue(forKey: key) }
    }

    /// Announces a change of an ordered relationship's members at some indices.
    public func willChange<Value>(_ changeKind: NSKeyValueChange, valuesAt indexes: IndexSet, for keyPath: KeyPath<Self, Value>) {
        for key in keys(keyPath) { willChange(changeKind, valuesAt: indexes, forKey: key) }
    }

    /// Ends an announced change of an ordered relationship.
    public func didChange<Value>(_ changeKind: NSKeyValueChange, valuesAt indexes: IndexSet, for keyPath: KeyPath<Self, Value>) {
        for key in keys(keyPath) { didChange(changeKind, valuesAt: indexes, forKey: key) }
    }

    /// Announces a change of a to-many relationship's members.
    public func willChangeValue<Value>(
        for keyPath: KeyPath<Self, Value>, withSetMutation mutation: NSKeyValueSetMutationKind, using set: Set<Value>
    ) {
        for key in keys(keyPath) { willChangeValue(forKey: key, withSetMutation: mutation, using: set) }
    }

    /// Ends an announced change of a to-many relationship.
    public func didChangeValue<Value>(
        for keyPath: KeyPath<Self, Value>, withSetMutation mutation: NSKeyValueSetMutationKind, using set: Set<Value>
    ) {
        for key in keys(keyPath) { didChangeValue(forKey: key, withSetMutation: mutation, using: set) }
    }

    private func keys(_ keyPath: AnyKeyPath) -> [String] {
        KeyPathProbe.paths(read: keyPath, of: self).filter { $0.count == 1 }.map { $0[0] }
    }
}

extension NSManagedObject {
    final func makeObservers() -> PropertyObservers {
        if let observers { return observers }
        let made = PropertyObservers()
        observers = made
        return made
    }

    /// Called when an observation of a property begins.
    final func observersForKeyValues() -> PropertyObservers {
        flags.insert(.keyValueObserved)
        return makeObservers()
    }

    /// - Returns: nil if no key-value observer observes the property.
    final func beginChange(_ name: String, _ mutation: PropertyMutation) -> PropertyObservers.OpenChange? {
        guard flags.contains(.keyValueObserved), let observers else { return nil }
        if observers.isEmpty {
            flags.remove(.keyValueObserved)
            return nil
        }
        return observers.begin(change(name, mutation))
    }

    /// Notifies observers of an attribute now, and of a relationship after its inverse has changed, too.
    final func finishChange(_ open: PropertyObservers.OpenChange) {
        var open = open
        if open.change.kind == .insertion, open.change.indexes == nil { open.change.indexes = positions(open.change) }
        guard let context = contextReference, isRelationship(open.change.name) else { return open.finish() }
        context.observedChanges.append(open)
    }

    /// Reports several changes of a property to observers as one.
    final func asOneChange(_ name: @autoclosure () -> String, _ mutation: @autoclosure () -> PropertyMutation, _ body: () -> Void) {
        guard flags.contains(.keyValueObserved), let observers else { return body() }
        let name = name()
        let open = beginChange(name, mutation())
        observers.withSuppressed(name, body)
        guard let open else { return }
        finishChange(open)
        contextReference?.deliverObservedChanges()
    }

    private final func change(_ name: String, _ mutation: PropertyMutation) -> PropertyChange {
        var change = PropertyChange(object: self, name: name)
        switch mutation {
        case .setting: break
        case .insertion(let members): (change.kind, change.members) = (.insertion, members)
        case .replacement(let members): (change.kind, change.members) = (.replacement, members)
        case .removal(let members):
            (change.kind, change.members) = (.removal, members)
            change.indexes = positions(change)
        }
        return change
    }

    /// The members' indices in an ordered relationship; nil for an unordered one.
    private final func positions(_ change: PropertyChange) -> IndexSet? {
        guard case .toMany(let index)? = layout.entity.location(of: change.name), layout.entity.toMany[index].declaration.isOrdered else {
            return nil
        }
        let indexes = Dictionary(uniqueKeysWithValues: toManyObjects(index).enumerated().map { (ObjectIdentifier($1), $0) })
        return IndexSet(change.members.compactMap { indexes[ObjectIdentifier($0)] })
    }

    private final func isRelationship(_ name: String) -> Bool {
        switch layout.entity.location(of: name) {
        case .toMany: true
        case .slot(let slot): if case .toOne = layout.entity.slots[slot] { true } else { false }
        case nil: false
        }
    }
}

/// The kind of a property's change, for key-value observers.
enum PropertyMutation {
    case setting
    case insertion([NSManagedObject])
    case removal([NSManagedObject])
    case replacement([NSManagedObject])
}

// Changes that accessors announce manually.

extension NSManagedObject {
    final func announceChange(_ name: String, _ mutation: @autoclosure () -> PropertyMutation, at indexes: IndexSet? = nil) {
        guard flags.contains(.keyValueObserved), let observers else { return }
        var change = change(name, mutation())
        if let indexes { change.indexes = indexes }
        observers.announce(change)
    }

    /// - Parameter members: The changed members, if they are known only after the change.
    final func finishAnnounced(_ name: String, members: (() -> [NSManagedObject])? = nil) {
        guard flags.contains(.keyValueObserved), var open = observers?.takeAnnounced(name) else { return }
        if let members { open.change.members = members() }
        open.finish()
    }

    final func mutation(_ mutation: NSKeyValueSetMutationKind, _ objects: Set<AnyHashable>, of name: String) -> PropertyMutation {
        let members = objects.compactMap { $0.base as? NSManagedObject }
        switch mutation {
        case .union: return .insertion(members)
        case .minus: return .removal(members)
        case .set: return .replacement(members)
        case .intersect:
            guard case .toMany(let index)? = layout.entity.location(of: name) else { return .removal([]) }
            return .removal(toManyObjects(index).filter { !objects.contains($0) })
        }
    }

    /// Members that join are known after the change.
    final func mutation(_ change: NSKeyValueChange, at indexes: IndexSet, of name: String) -> PropertyMutation {
        switch change {
        case .setting: .setting
        case .insertion: .insertion([])
        case .removal: .removal(members(at: indexes, of: name))
        case .replacement: .replacement([])
        }
    }

    /// The members of an ordered relationship at some indices.
    final func members(at indexes: IndexSet, of name: String) -> [NSManagedObject] {
        guard case .toMany(let index)? = layout.entity.location(of: name) else { return [] }
        let all = toManyObjects(index)
        return indexes.filter(all.indices.contains).map { all[$0] }
    }
}
