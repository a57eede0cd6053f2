// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import Synchronization

/// The identity of an object in its store, valid in every context and on every thread.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobjectid
open class NSManagedObjectID: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked: immutable after init.
    package final let key: RowKey
    private final let layout: EntityLayout?
    private final let ticket: StoreTicket?
    private static let counter = Atomic<Int64>(Int64.min)

    /// Creates an ID without an object, for tests.
    ///
    /// It is temporary and equals only itself. A context's `object(with:)` returns a fault without a row.
    public override init() {
        layout = nil
        ticket = nil
        key = RowKey(store: RowKey.temporaryStore, entity: 0, primaryKey: Self.counter.add(1, ordering: .relaxed).newValue)
    }

    init(key: RowKey, layout: EntityLayout, ticket: StoreTicket?) {
        self.key = key
        self.layout = layout
        self.ticket = ticket
    }

    convenience init(key: RowKey, layout: EntityLayout, store: NSPersistentStore) {
        self.init(key: key, layout: layout, ticket: store.ticket)
    }

    /// The entity of the object; an unnamed one for an ID without an object.
    open var entity: NSEntityDescription { layout?.description ?? NSEntityDescription() }
    /// The store of the object; nil for a temporary ID, and once the store is deallocated.
    open var persistentStore: NSPersistentStore? { ticket?.store }
    private final var storeIdentifier: String? { ticket?.identifier }

    /// Whether the object was neither saved nor assigned a permanent ID.
    open var isTemporaryID: Bool { key.isTemporary }

    /// Returns `x-coredata://STORE/ENTITY/pKEY`, or `x-coredata:///ENTITY/tKEY` for a temporary ID.
    ///
    /// Differs: the form of temporary URIs is Tarn's; Apple does not document its own.
    open func uriRepresentation() -> URL {
        let text =
            if let ticket, !key.isTemporary {
                "x-coredata://\(ticket.identifier)/\(entity.name ?? "")/p\(ticket.text(key.primaryKey))"
            } else {
                "x-coredata:///\(entity.name ?? "")/t\(key.primaryKey.magnitude)"
            }
        guard let url = URL(string: text) else { preconditionFailure("entity names are valid in addresses") }
        return url
    }

    open override var description: String { "<\(uriRepresentation().absoluteString)>" }

    open override var hash: Int { Int(truncatingIfNeeded: key.primaryKey) }

    /// Rows of the same store file are equal even if the file was added to two coordinators.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSManagedObjectID else { return false }
        if key == other.key { return true }
        return key.primaryKey == other.key.primaryKey && !key.isTemporary && !other.key.isTemporary
            && storeIdentifier == other.storeIdentifier && entity.name == other.entity.name
    }

    /// Returns the ID itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}
