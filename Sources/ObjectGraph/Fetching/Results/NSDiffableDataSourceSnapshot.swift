// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The sections and items of a view at one moment, from which the view computes the difference to the one before.
///
/// On Apple's platforms UIKit and AppKit declare the type; elsewhere this module does, for fetched results controllers.
///
/// Source: developer.apple.com/documentation/uikit/nsdiffabledatasourcesnapshot
public struct NSDiffableDataSourceSnapshot<
    SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable
>: Sendable {
    var contents: SnapshotContents<SectionIdentifierType, ItemIdentifierType>

    /// Creates an empty snapshot.
    public init() { contents = SnapshotContents() }

    init(_ contents: SnapshotContents<SectionIdentifierType, ItemIdentifierType>) { self.contents = contents }

    /// The number of items in all sections.
    public var numberOfItems: Int { contents.itemCount }
    /// The number of sections.
    public var numberOfSections: Int { contents.sections.count }
    /// The identifiers of the sections, in order.
    public var sectionIdentifiers: [SectionIdentifierType] { contents.sections.map(\.id) }
    /// The identifiers of all items, in order.
    public var itemIdentifiers: [ItemIdentifierType] { contents.items }
    /// The sections marked as reloaded.
    public var reloadedSectionIdentifiers: [SectionIdentifierType] { contents.reloadedSections }
    /// The items marked as reloaded.
    public var reloadedItemIdentifiers: [ItemIdentifierType] { contents.reloadedItems }
    /// The items marked as reconfigured.
    public var reconfiguredItemIdentifiers: [ItemIdentifierType] { contents.reconfiguredItems }

    /// Returns the number of items in a section.
    ///
    /// - Precondition: The section exists.
    public func numberOfItems(inSection identifier: SectionIdentifierType) -> Int { contents.items(in: identifier).count }
    /// Returns the items of a section.
    ///
    /// - Precondition: The section exists.
    public func itemIdentifiers(inSection identifier: SectionIdentifierType) -> [ItemIdentifierType] { contents.items(in: identifier) }
    /// Returns the section of an item; nil if the item does not exist.
    public func sectionIdentifier(containingItem identifier: ItemIdentifierType) -> SectionIdentifierType? {
        contents.section(of: identifier)
    }
    /// Returns the index of an item among all items; nil if it does not exist.
    public func indexOfItem(_ identifier: ItemIdentifierType) -> Int? { contents.index(ofItem: identifier) }
    /// Returns the index of a section; nil if it does not exist.
    public func indexOfSection(_ identifier: SectionIdentifierType) -> Int? { contents.index(ofSection: identifier) }

    /// Appends items to a section.
    ///
    /// - Parameter sectionIdentifier: nil for the last section.
    /// - Precondition: The identifiers are new, and the section exists.
    public mutating func appendItems(_ identifiers: [ItemIdentifierType], toSection sectionIdentifier: SectionIdentifierType? = nil) {
        contents.append(items: identifiers, to: sectionIdentifier)
    }
    /// Inserts items before another item.
    ///
    /// - Precondition: The identifiers are new, and the other item exists.
    public mutating func insertItems(_ identifiers: [ItemIdentifierType], beforeItem beforeIdentifier: ItemIdentifierType) {
        contents.insert(items: identifiers, beside: beforeIdentifier, after: false)
    }
    /// Inserts items after another item.
    ///
    /// - Precondition: The identifiers are new, and the other item exists.
    public mutating func insertItems(_ identifiers: [ItemIdentifierType], afterItem afterIdentifier: ItemIdentifierType) {
        contents.insert(items: identifiers, beside: afterIdentifier, after: true)
    }
    /// Deletes items.
    public mutating func deleteItems(_ identifiers: [ItemIdentifierType]) { contents.delete(items: identifiers) }
    /// Deletes all items and all sections.
    public mutating func deleteAllItems() { contents.deleteAllItems() }
    /// Moves an item before another one.
    ///
    /// - Precondition: Both exist.
    public mutating func moveItem(_ identifier: ItemIdentifierType, beforeItem toIdentifier: ItemIdentifierType) {
        contents.move(item: identifier, beside: toIdentifier, after: false)
    }
    /// Moves an item after another one.
    ///
    /// - Precondition: Both exist.
    public mutating func moveItem(_ identifier: ItemIdentifierType, afterItem toIdentifier: ItemIdentifierType) {
        contents.move(item: identifier, beside: toIdentifier, after: true)
    }
    /// Marks items as reloaded.
    ///
    /// - Precondition: They exist.
    public mutating func reloadItems(_ identifiers: [ItemIdentifierType]) { contents.reload(items: identifiers) }
    /// Marks items as reconfigured.
    ///
    /// - Precondition: They exist.
    public mutating func reconfigureItems(_ identifiers: [ItemIdentifierType]) { contents.reconfigure(items: identifiers) }

    /// Appends sections.
    ///
    /// - Precondition: The identifiers are new.
    public mutating func appendSections(_ identifiers: [SectionIdentifierType]) { contents.append(sections: identifiers) }
    /// Inserts sections before another one.
    ///
    /// - Precondition: The identifiers are new, and the other section exists.
    public mutating func insertSections(_ identifiers: [SectionIdentifierType], beforeSection toIdentifier: SectionIdentifierType) {
        contents.insert(sections: identifiers, beside: toIdentifier, after: false)
    }
    /// Inserts sections after another one.
    ///
    /// - Precondition: The identifiers are new, and the other section exists.
    public mutating func insertSections(_ identifiers: [SectionIdentifierType], afterSection toIdentifier: SectionIdentifierType) {
        contents.insert(sections: identifiers, beside: toIdentifier, after: true)
    }
    /// Deletes sections and their items.
    public mutating func deleteSections(_ identifiers: [SectionIdentifierType]) { contents.delete(sections: identifiers) }
    /// Moves a section before another one.
    ///
    /// - Precondition: Both exist.
    public mutating func moveSection(_ identifier: SectionIdentifierType, beforeSection toIdentifier: SectionIdentifierType) {
        contents.move(section: identifier, beside: toIdentifier, after: false)
    }
    /// Moves a section after another one.
    ///
    /// - Precondition: Both exist.
    public mutating func moveSection(_ identifier: SectionIdentifierType, afterSection toIdentifier: SectionIdentifierType) {
        contents.move(section: identifier, beside: toIdentifier, after: true)
    }
    /// Marks sections as reloaded.
    ///
    /// - Precondition: They exist.
    public mutating func reloadSections(_ identifiers: [SectionIdentifierType]) { contents.reload(sections: identifiers) }
}

/// `reference as NSDiffableDataSourceSnapshot<String, NSManagedObjectID>` and back, as on Apple's platforms.
extension NSDiffableDataSourceSnapshot: _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSDiffableDataSourceSnapshotReference

    public func _bridgeToObjectiveC() -> NSDiffableDataSourceSnapshotReference {
        let erased = contents.mapped({ AnyHashable($0) }, { AnyHashable($0) })
        return NSDiffableDataSourceSnapshotReference { erased ?? SnapshotContents() }
    }

    public static func _forceBridgeFromObjectiveC(_ source: NSDiffableDataSourceSnapshotReference, result: inout Self?) {
        result = _unconditionallyBridgeFromObjectiveC(source)
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSDiffableDataSourceSnapshotReference, result: inout Self?) -> Bool {
        result = Self(source)
        return result != nil
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSDiffableDataSourceSnapshotReference?) -> Self {
        guard let source else { return Self() }
        guard let snapshot = Self(source) else {
            preconditionFailure("a snapshot's identifiers are not \(SectionIdentifierType.self) and \(ItemIdentifierType.self)")
        }
        return snapshot
    }

    private init?(_ reference: NSDiffableDataSourceSnapshotReference) {
        let typed = reference.contents.mapped({ $0.base as? SectionIdentifierType }, { $0.base as? ItemIdentifierType })
        guard let typed else { return nil }
        self.init(typed)
    }
}
