// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel

/// The identity of an object in its store, valid in every context and on every thread.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobjectid
public final class NSManagedObjectID: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked: nothing is written after init.
    package let key: RowKey
    private let layout: EntityLayout
    private let ticket: StoreTicket?

    init(key: RowKey, layout: EntityLayout, ticket: StoreTicket?) {
        self.key = key
        self.layout = layout
        self.ticket = ticket
    }

    convenience init(key: RowKey, layout: EntityLayout, store: NSPersistentStore) {
        self.init(key: key, layout: layout, ticket: store.ticket)
    }

    public var entity: NSEntityDescription { layout.description }
    public var persistentStore: NSPersistentStore? { ticket?.store }
    private var storeIdentifier: String? { ticket?.identifier }

    /// Whether the object has not been saved, nor asked for a permanent ID, yet.
    public var isTemporaryID: Bool { key.isTemporary }

    /// `x-coredata://STORE/ENTITY/pKEY`, or `x-coredata:///ENTITY/tKEY` for a temporary ID.
    ///
    /// The form of the temporary address is Tarn's choice; Apple does not document its own.
    public func uriRepresentation() -> URL {
        let text =
            if let ticket, !key.isTemporary {
                "x-coredata://\(ticket.identifier)/\(entity.name ?? "")/p\(ticket.text(key.primaryKey))"
            } else {
                "x-coredata:///\(entity.name ?? "")/t\(-key.primaryKey)"
            }
        guard let url = URL(string: text) else { preconditionFailure("entity names are valid in addresses") }
        return url
    }

    public override var description: String { "<\(uriRepresentation().absoluteString)>" }

    public override var hash: Int { Int(truncatingIfNeeded: key.primaryKey) }

    /// The same row of the same store file is equal even when the file was added to two coordinators.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSManagedObjectID else { return false }
        if key == other.key { return true }
        return key.primaryKey == other.key.primaryKey && !key.isTemporary && !other.key.isTemporary
            && storeIdentifier == other.storeIdentifier && entity.name == other.entity.name
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}
