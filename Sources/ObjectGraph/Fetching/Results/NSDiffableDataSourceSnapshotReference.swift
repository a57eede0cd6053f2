// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A snapshot with identifiers of any type, as delegates of fetched results controllers receive it.
///
/// It is filled on first access: a delegate that ignores it costs nothing.
///
/// Source: developer.apple.com/documentation/uikit/nsdiffabledatasourcesnapshotreference
public final class NSDiffableDataSourceSnapshotReference: NSObject, NSCopying {
    private var fill: (() -> SnapshotContents<AnyHashable, AnyHashable>)?
    private var filled = SnapshotContents<AnyHashable, AnyHashable>()
    /// Set by the default implementation of the delegate's method.
    var isUnwanted = false

    public override init() { super.init() }

    init(_ fill: @escaping () -> SnapshotContents<AnyHashable, AnyHashable>) {
        self.fill = fill
        super.init()
    }

    var contents: SnapshotContents<AnyHashable, AnyHashable> {
        get {
            if let fill {
                filled = fill()
                self.fill = nil
            }
            return filled
        }
        set {
            fill = nil
            filled = newValue
        }
    }

    /// Returns a snapshot with the same contents.
    public func copy(with zone: NSZone? = nil) -> Any {
        let contents = contents
        return NSDiffableDataSourceSnapshotReference { contents }
    }

    /// The number of items in all sections.
    public var numberOfItems: Int { contents.itemCount }
    /// The number of sections.
    public var numberOfSections: Int { contents.sections.count }
    /// The identifiers of the sections, in order.
    public var sectionIdentifiers: [Any] { contents.sections.map(\.id.base) }
    /// The identifiers of all items, in order.
    public var itemIdentifiers: [Any] { contents.items.map(\.base) }
    /// The sections marked as reloaded.
    public var reloadedSectionIdentifiers: [Any] { contents.reloadedSections.map(\.base) }
    /// The items marked as reloaded.
    public var reloadedItemIdentifiers: [Any] { contents.reloadedItems.map(\.base) }
    /// The items marked as reconfigured.
    public var reconfiguredItemIdentifiers: [Any] { contents.reconfiguredItems.map(\.base) }

    /// Returns the number of items in a section.
    ///
    /// - Precondition: The section exists.
    public func numberOfItems(inSection identifier: Any) -> Int { contents.items(in: Self.key(identifier)).count }
    /// Returns the items of a section.
    ///
    /// - Precondition: The section exists.
    public func itemIdentifiersInSection(withIdentifier identifier: Any) -> [Any] { contents.items(in: Self.key(identifier)).map(\.base) }
    /// Returns the section of an item; nil if the item does not exist.
    public func sectionIdentifierForSection(containingItemIdentifier identifier: Any) -> Any? {
        contents.section(of: Self.key(identifier))?.base
    }
    /// - Returns: The index among all items; `NSNotFound` if the item does not exist.
    public func index(ofItemIdentifier identifier: Any) -> Int { contents.index(ofItem: Self.key(identifier)) ?? NSNotFound }
    /// - Returns: The index; `NSNotFound` if the section does not exist.
    public func index(ofSectionIdentifier identifier: Any) -> Int { contents.index(ofSection: Self.key(identifier)) ?? NSNotFound }

    /// Appends items to the last section.
    ///
    /// - Precondition: The identifiers are new.
    public func appendItems(withIdentifiers identifiers: [Any]) { contents.append(items: Self.keys(identifiers), to: nil) }
    /// Appends items to a section.
    ///
    /// - Precondition: The identifiers are new, and the section exists.
    public func appendItems(withIdentifiers identifiers: [Any], intoSectionWithIdentifier section: Any) {
        contents.append(items: Self.keys(identifiers), to: Self.key(section))
    }
    /// Inserts items before another item.
    ///
    /// - Precondition: The identifiers are new, and the other item exists.
    public func insertItems(withIdentifiers identifiers: [Any], beforeItemWithIdentifier item: Any) {
        contents.insert(items: Self.keys(identifiers), beside: Self.key(item), after: false)
    }
    /// Inserts items after another item.
    ///
    /// - Precondition: The identifiers are new, and the other item exists.
    public func insertItems(withIdentifiers identifiers: [Any], afterItemWithIdentifier item: Any) {
        contents.insert(items: Self.keys(identifiers), beside: Self.key(item), after: true)
    }
    /// Deletes items.
    public func deleteItems(withIdentifiers identifiers: [Any]) { contents.delete(items: Self.keys(identifiers)) }
    /// Deletes all items and all sections.
    public func deleteAllItems() { contents.deleteAllItems() }
    /// Moves an item before another one.
    ///
    /// - Precondition: Both exist.
    public func moveItem(withIdentifier item: Any, beforeItemWithIdentifier other: Any) {
        contents.move(item: Self.key(item), beside: Self.key(other), after: false)
    }
    /// Moves an item after another one.
    ///
    /// - Precondition: Both exist.
    public func moveItem(withIdentifier item: Any, afterItemWithIdentifier other: Any) {
        contents.move(item: Self.key(item), beside: Self.key(other), after: true)
    }
    /// Marks items as reloaded.
    ///
    /// - Precondition: They exist.
    public func reloadItems(withIdentifiers identifiers: [Any]) { contents.reload(items: Self.keys(identifiers)) }
    /// Marks items as reconfigured.
    ///
    /// - Precondition: They exist.
    public func reconfigureItems(withIdentifiers identifiers: [Any]) { contents.reconfigure(items: Self.keys(identifiers)) }

    /// Appends sections.
    ///
    /// - Precondition: The identifiers are new.
    public func appendSections(withIdentifiers sections: [Any]) { contents.append(sections: Self.keys(sections)) }
    /// Inserts sections before another one.
    ///
    /// - Precondition: The identifiers are new, and the other section exists.
    public func insertSections(withIdentifiers sections: [Any], beforeSectionWithIdentifier section: Any) {
        contents.insert(sections: Self.keys(sections), beside: Self.key(section), after: false)
    }
    /// Inserts sections after another one.
    ///
    /// - Precondition: The identifiers are new, and the other section exists.
    public func insertSections(withIdentifiers sections: [Any], afterSectionWithIdentifier section: Any) {
        contents.insert(sections: Self.keys(sections), beside: Self.key(section), after: true)
    }
    /// Deletes sections and their items.
    public func deleteSections(withIdentifiers sections: [Any]) { contents.delete(sections: Self.keys(sections)) }
    /// Moves a section before another one.
    ///
    /// - Precondition: Both exist.
    public func moveSection(withIdentifier section: Any, beforeSectionWithIdentifier other: Any) {
        contents.move(section: Self.key(section), beside: Self.key(other), after: false)
    }
    /// Moves a section after another one.
    ///
    /// - Precondition: Both exist.
    public func moveSection(withIdentifier section: Any, afterSectionWithIdentifier other: Any) {
        contents.move(section: Self.key(section), beside: Self.key(other), after: true)
    }
    /// Marks sections as reloaded.
    ///
    /// - Precondition: They exist.
    public func reloadSections(withIdentifiers sections: [Any]) { contents.reload(sections: Self.keys(sections)) }

    /// - Precondition: The identifier is hashable.
    private static func key(_ identifier: Any) -> AnyHashable {
        guard let key = identifier as? AnyHashable else { preconditionFailure("identifiers of a snapshot can be hashed") }
        return key
    }

    private static func keys(_ identifiers: [Any]) -> [AnyHashable] { identifiers.map(key) }
}
