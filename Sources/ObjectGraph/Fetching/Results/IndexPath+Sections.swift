// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The members that UIKit adds to index paths. Off Apple's platforms no other module declares them, and index paths of
/// ``NSFetchedResultsController`` need them.
///
/// Source: developer.apple.com/documentation/foundation/indexpath, "Working with UIKit"
extension IndexPath {
    /// An index path of a row in a table's section.
    public init(row: Int, section: Int) { self = [section, row] }

    /// An index path of an item in a collection's section.
    public init(item: Int, section: Int) { self = [section, item] }

    /// The section, counted from 0.
    ///
    /// - Precondition: The index path has two elements.
    public var section: Int {
        get { element(0, "section") }
        set {
            _ = element(0, "section")
            self[0] = newValue
        }
    }

    /// The row in its section, counted from 0.
    ///
    /// - Precondition: The index path has two elements.
    public var row: Int {
        get { element(1, "row") }
        set {
            _ = element(1, "row")
            self[1] = newValue
        }
    }

    /// The item in its section, counted from 0.
    ///
    /// - Precondition: The index path has two elements.
    public var item: Int {
        get { row }
        set { row = newValue }
    }

    private func element(_ position: Int, _ name: String) -> Int {
        precondition(count == 2, "an index path with \(count) elements has no \(name); it needs a section and a row")
        return self[position]
    }
}
