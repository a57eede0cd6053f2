// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

// Key-value observing of managed objects, for which Foundation on Linux has neither the types nor the mechanism.

/// What an observation reports.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvalueobservingoptions
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Changes have their ``NSKeyValueObservedChange/newValue``.
    public static let new = NSKeyValueObservingOptions(rawValue: 1)
    /// Changes have their ``NSKeyValueObservedChange/oldValue``.
    public static let old = NSKeyValueObservingOptions(rawValue: 2)
    /// The handler is called before `observe` returns, too.
    public static let initial = NSKeyValueObservingOptions(rawValue: 4)
    /// The handler is called before each change, too, with ``NSKeyValueObservedChange/isPrior`` set.
    public static let prior = NSKeyValueObservingOptions(rawValue: 8)
}

/// One change of an observed property.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvalueobservedchange
public struct NSKeyValueObservedChange<Value> {
    public typealias Kind = NSKeyValueChange

    /// `setting`, or how the members of a to-many relationship changed.
    public let kind: Kind
    /// The value with the option `new`, or the members that joined. Nil before a change, and for members that left.
    public let newValue: Value?
    /// The former value with the option `old`, or the members that left. Nil for members that joined.
    public let oldValue: Value?
    /// Positions of the members that joined or left, in an ordered to-many relationship.
    public let indexes: IndexSet?
    /// Whether the change is about to happen.
    public let isPrior: Bool
}

/// Keeps an observation of one property alive. It ends with its last reference, or by ``invalidate()``.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvalueobservation
public class NSKeyValueObservation: NSObject, @unchecked Sendable {
    // Unchecked: the observer's own state is behind a lock.
    private let observer: any PropertyObserver

    init(_ observer: any PropertyObserver) { self.observer = observer }

    deinit { observer.invalidate() }

    /// Ends the observation. Safe on any thread, and more than once.
    public func invalidate() { observer.invalidate() }
}

/// What an observation does when one of the names that it depends on changes.
protocol PropertyObserver: AnyObject, Sendable {
    /// Called on the object's queue before the change.
    ///
    /// - Returns: What is called after the change, with what is known of it then.
    func begin(_ change: PropertyChange, at place: ObservedName.Place, sendsPrior: Bool) -> (PropertyChange) -> Void
    func invalidate()
}

/// A change of one property of one object.
struct PropertyChange {
    let object: NSManagedObject
    let name: String
    var kind: NSKeyValueChange = .setting
    /// Those that joined or left a to-many relationship.
    var members: [NSManagedObject] = []
    /// Where the members stand in an ordered relationship.
    var indexes: IndexSet?
}

/// One property of one object that an observation depends on.
struct ObservedName {
    /// The step of an observed key path that the property is.
    struct Place: Equatable {
        /// Computed properties depend on several paths.
        var path: Int
        var depth: Int
    }

    let name: String
    let place: Place
    let observer: any PropertyObserver
}
