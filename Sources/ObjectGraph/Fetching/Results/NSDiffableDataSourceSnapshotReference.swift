// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A snapshot with identifiers of any kind, as delegates of fetched results controllers get it.
///
/// It is filled when somebody looks: a delegate that does not costs nothing.
///
/// Source: developer.apple.com/documentation/uikit/nsdiffabledatasourcesnapshotreference
public final class NSDiffableDataSourceSnapshotReference: NSObject, NSCopying {
    private var fill: (() -> SnapshotContents<AnyHashable, AnyHashable>)?
    private var filled = SnapshotContents<AnyHashable, AnyHashable>()
    /// Set by the delegate's default method, which nobody wrote.
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

    public func copy(with zone: NSZone? = nil) -> Any {
        let contents = contents
        return NSDiffableDataSourceSnapshotReference { contents }
    }

    public var numberOfItems: Int { contents.itemCount }
    public var numberOfSections: Int { contents.sections.count }
    public var sectionIdentifiers: [Any] { contents.sections.map(\.id.base) }
    public var itemIdentifiers: [Any] { contents.items.map(\.base) }
    public var reloadedSectionIdentifiers: [Any] { contents.reloadedSections.map(\.base) }
    public var reloadedItemIdentifiers: [Any] { contents.reloadedItems.map(\.base) }
    public var reconfiguredItemIdentifiers: [Any] { contents.reconfiguredItems.map(\.base) }

    public func numberOfItems(inSection identifier: Any) -> Int { contents.items(in: Self.key(identifier)).count }
    public func itemIdentifiersInSection(withIdentifier identifier: Any) -> [Any] { contents.items(in: Self.key(identifier)).map(\.base) }
    public func sectionIdentifierForSection(containingItemIdentifier identifier: Any) -> Any? {
        contents.section(of: Self.key(identifier))?.base
    }
    /// - Returns: `NSNotFound` for an item that is not there.
    public func index(ofItemIdentifier identifier: Any) -> Int { contents.place(ofItem: Self.key(identifier)) ?? NSNotFound }
    /// - Returns: `NSNotFound` for a section that is not there.
    public func index(ofSectionIdentifier identifier: Any) -> Int { contents.place(ofSection: Self.key(identifier)) ?? NSNotFound }

    public func appendItems(withIdentifiers identifiers: [Any]) { contents.append(items: Self.keys(identifiers), to: nil) }
    public func appendItems(withIdentifiers identifiers: [Any], intoSectionWithIdentifier section: Any) {
        contents.append(items: Self.keys(identifiers), to: Self.key(section))
    }
    public func insertItems(withIdentifiers identifiers: [Any], beforeItemWithIdentifier item: Any) {
        contents.insert(items: Self.keys(identifiers), beside: Self.key(item), after: false)
    }
    public func insertItems(withIdentifiers identifiers: [Any], afterItemWithIdentifier item: Any) {
        contents.insert(items: Self.keys(identifiers), beside: Self.key(item), after: true)
    }
    public func deleteItems(withIdentifiers identifiers: [Any]) { contents.delete(items: Self.keys(identifiers)) }
    public func deleteAllItems() { contents.deleteAllItems() }
    public func moveItem(withIdentifier item: Any, beforeItemWithIdentifier other: Any) {
        contents.move(item: Self.key(item), beside: Self.key(other), after: false)
    }
    public func moveItem(withIdentifier item: Any, afterItemWithIdentifier other: Any) {
        contents.move(item: Self.key(item), beside: Self.key(other), after: true)
    }
    public func reloadItems(withIdentifiers identifiers: [Any]) { contents.reload(items: Self.keys(identifiers)) }
    public func reconfigureItems(withIdentifiers identifiers: [Any]) { contents.reconfigure(items: Self.keys(identifiers)) }

    public func appendSections(withIdentifiers sections: [Any]) { contents.append(sections: Self.keys(sections)) }
    public func insertSections(withIdentifiers sections: [Any], beforeSectionWithIdentifier section: Any) {
        contents.insert(sections: Self.keys(sections), beside: Self.key(section), after: false)
    }
    public func insertSections(withIdentifiers sections: [Any], afterSectionWithIdentifier section: Any) {
        contents.insert(sections: Self.keys(sections), beside: Self.key(section), after: true)
    }
    public func deleteSections(withIdentifiers sections: [Any]) { contents.delete(sections: Self.keys(sections)) }
    public func moveSection(withIdentifier section: Any, beforeSectionWithIdentifier other: Any) {
        contents.move(section: Self.key(section), beside: Self.key(other), after: false)
    }
    public func moveSection(withIdentifier section: Any, afterSectionWithIdentifier other: Any) {
        contents.move(section: Self.key(section), beside: Self.key(other), after: true)
    }
    public func reloadSections(withIdentifiers sections: [Any]) { contents.reload(sections: Self.keys(sections)) }

    /// - Precondition: The identifier can be hashed.
    private static func key(_ identifier: Any) -> AnyHashable {
        guard let key = identifier as? AnyHashable else { preconditionFailure("identifiers of a snapshot can be hashed") }
        return key
    }

    private static func keys(_ identifiers: [Any]) -> [AnyHashable] { identifiers.map(key) }
}
