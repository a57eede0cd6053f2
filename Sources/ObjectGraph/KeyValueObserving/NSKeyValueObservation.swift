// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

// Key-value observing of managed objects. Foundation on Linux has neither its types nor its mechanism.

/// The values and calls that an observation requests.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvalueobservingoptions
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
    /// Apple's raw value.
    public let rawValue: UInt
    /// Creates options from Apple's raw value.
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
    /// How a property changed.
    public typealias Kind = NSKeyValueChange

    /// `setting`, or how the members of a to-many relationship changed.
    public let kind: Kind
    /// The value with the option `new`, or the members that joined. Nil before a change, and for members that left.
    public let newValue: Value?
    /// The former value with the option `old`, or the members that left. Nil for members that joined.
    public let oldValue: Value?
    /// Positions of the members that joined or left, in an ordered to-many relationship.
    public let indexes: IndexSet?
    /// Whether the change is still to happen.
    public let isPrior: Bool
}

/// An observation of one property. It ends with its last reference, or by ``invalidate()``.
///
/// Source: developer.apple.com/documentation/foundation/nskeyvalueobservation
public class NSKeyValueObservation: NSObject, @unchecked Sendable {
    // Unchecked: the observer's state is behind a lock.
    private let observer: any PropertyObserver

    init(_ observer: any PropertyObserver) { self.observer = observer }

    deinit { observer.invalidate() }

    /// Ends the observation. Safe on any thread, and repeatedly.
    public func invalidate() { observer.invalidate() }
}

/// The response of an observation to a change of one of its properties.
protocol PropertyObserver: AnyObject, Sendable {
    /// Called on the object's queue before the change.
    ///
    /// - Returns: The function to call after the change, with the change as known then.
    func begin(_ change: PropertyChange, at step: ObservedName.Step, sendsPrior: Bool) -> (PropertyChange) -> Void
    func invalidate()
}

/// A change of one property of one object.
struct PropertyChange {
    let object: NSManagedObject
    let name: String
    var kind: NSKeyValueChange = .setting
    /// Members that joined or left a to-many relationship.
    var members: [NSManagedObject] = []
    /// The members' indices in an ordered relationship.
    var indexes: IndexSet?
}

/// One property of one object that an observation depends on.
struct ObservedName {
    /// The step of an observed key path that the property is.
    struct Step: Equatable {
        /// Computed properties depend on several paths.
        var path: Int
        var depth: Int
    }

    let name: String
    let step: Step
    let observer: any PropertyObserver
}
