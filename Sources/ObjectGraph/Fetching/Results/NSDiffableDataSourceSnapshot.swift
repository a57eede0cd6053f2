// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Sections and items at one moment, for a view that shows the difference to the moment before.
///
/// On Apple's platforms the type comes with UIKit and AppKit; off them, for fetched results controllers, from here.
///
/// Source: developer.apple.com/documentation/uikit/nsdiffabledatasourcesnapshot
public struct NSDiffableDataSourceSnapshot<
    SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable
>: Sendable {
    var contents: SnapshotContents<SectionIdentifierType, ItemIdentifierType>

    public init() { contents = SnapshotContents() }

    init(_ contents: SnapshotContents<SectionIdentifierType, ItemIdentifierType>) { self.contents = contents }

    public var numberOfItems: Int { contents.itemCount }
    public var numberOfSections: Int { contents.sections.count }
    public var sectionIdentifiers: [SectionIdentifierType] { contents.sections.map(\.id) }
    public var itemIdentifiers: [ItemIdentifierType] { contents.items }
    public var reloadedSectionIdentifiers: [SectionIdentifierType] { contents.reloadedSections }
    public var reloadedItemIdentifiers: [ItemIdentifierType] { contents.reloadedItems }
    public var reconfiguredItemIdentifiers: [ItemIdentifierType] { contents.reconfiguredItems }

    public func numberOfItems(inSection identifier: SectionIdentifierType) -> Int { contents.items(in: identifier).count }
    public func itemIdentifiers(inSection identifier: SectionIdentifierType) -> [ItemIdentifierType] { contents.items(in: identifier) }
    public func sectionIdentifier(containingItem identifier: ItemIdentifierType) -> SectionIdentifierType? { contents.section(of: identifier) }
    public func indexOfItem(_ identifier: ItemIdentifierType) -> Int? { contents.place(ofItem: identifier) }
    public func indexOfSection(_ identifier: SectionIdentifierType) -> Int? { contents.place(ofSection: identifier) }

    /// - Parameter sectionIdentifier: nil for the last section.
    public mutating func appendItems(_ identifiers: [ItemIdentifierType], toSection sectionIdentifier: SectionIdentifierType? = nil) {
        contents.append(items: identifiers, to: sectionIdentifier)
    }
    public mutating func insertItems(_ identifiers: [ItemIdentifierType], beforeItem beforeIdentifier: ItemIdentifierType) {
        contents.insert(items: identifiers, beside: beforeIdentifier, after: false)
    }
    public mutating func insertItems(_ identifiers: [ItemIdentifierType], afterItem afterIdentifier: ItemIdentifierType) {
        contents.insert(items: identifiers, beside: afterIdentifier, after: true)
    }
    public mutating func deleteItems(_ identifiers: [ItemIdentifierType]) { contents.delete(items: identifiers) }
    /// Sections go, too.
    public mutating func deleteAllItems() { contents.deleteAllItems() }
    public mutating func moveItem(_ identifier: ItemIdentifierType, beforeItem toIdentifier: ItemIdentifierType) {
        contents.move(item: identifier, beside: toIdentifier, after: false)
    }
    public mutating func moveItem(_ identifier: ItemIdentifierType, afterItem toIdentifier: ItemIdentifierType) {
        contents.move(item: identifier, beside: toIdentifier, after: true)
    }
    public mutating func reloadItems(_ identifiers: [ItemIdentifierType]) { contents.reload(items: identifiers) }
    public mutating func reconfigureItems(_ identifiers: [ItemIdentifierType]) { contents.reconfigure(items: identifiers) }

    public mutating func appendSections(_ identifiers: [SectionIdentifierType]) { contents.append(sections: identifiers) }
    public mutating func insertSections(_ identifiers: [SectionIdentifierType], beforeSection toIdentifier: SectionIdentifierType) {
        contents.insert(sections: identifiers, beside: toIdentifier, after: false)
    }
    public mutating func insertSections(_ identifiers: [SectionIdentifierType], afterSection toIdentifier: SectionIdentifierType) {
        contents.insert(sections: identifiers, beside: toIdentifier, after: true)
    }
    public mutating func deleteSections(_ identifiers: [SectionIdentifierType]) { contents.delete(sections: identifiers) }
    public mutating func moveSection(_ identifier: SectionIdentifierType, beforeSection toIdentifier: SectionIdentifierType) {
        contents.move(section: identifier, beside: toIdentifier, after: false)
    }
    public mutating func moveSection(_ identifier: SectionIdentifierType, afterSection toIdentifier: SectionIdentifierType) {
        contents.move(section: identifier, beside: toIdentifier, after: true)
    }
    public mutating func reloadSections(_ identifiers: [SectionIdentifierType]) { contents.reload(sections: identifiers) }
}

/// `reference as NSDiffableDataSourceSnapshot<String, NSManagedObjectID>` and the way back, as on Apple's platforms.
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
