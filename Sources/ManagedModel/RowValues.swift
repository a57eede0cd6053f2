// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// The identity of a row: store, concrete entity, primary key.
///
/// Keys that are not in a store yet are temporary: their store is ``temporaryStore`` and their primary key is negative
/// and unique in the process.
package struct RowKey: Hashable, Sendable {
    package static let temporaryStore = UInt16.max

    /// The number that the coordinator gave the store when it was added; meaningless outside the process.
    package var store: UInt16
    /// Index of the concrete entity in ``ResolvedModel/entities``.
    package var entity: UInt16
    package var primaryKey: Int64

    package init(store: UInt16, entity: Int, primaryKey: Int64) {
        self.store = store
        self.entity = UInt16(truncatingIfNeeded: entity)
        self.primaryKey = primaryKey
    }

    /// Each read of a relationship builds sets of keys; this costs a fifth of the standard library's hash. That one
    /// resists chosen keys; here the stores assign the keys.
    @inlinable package func _rawHashValue(seed: Int) -> Int {
        let bits = UInt64(store) << 48 | UInt64(entity) << 32
        let mixed = (UInt64(bitPattern: primaryKey) ^ bits ^ UInt64(bitPattern: Int64(seed))) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed ^ mixed >> 32)
    }

    /// Sets of keys in other modules compare by it, so they have to see it.
    @inlinable package static func == (one: RowKey, other: RowKey) -> Bool {
        one.primaryKey == other.primaryKey && one.entity == other.entity && one.store == other.store
    }

    package var isTemporary: Bool { store == Self.temporaryStore }
    package var entityIndex: Int { Int(entity) }
}

/// The value of one attribute or to-one relationship of a row.
///
/// The cases are a store's kinds of values, not a model's attribute types: Booleans and the three integer types share
/// `int`, because the attribute's type decides the decoding.
package enum StoredValue: Hashable, Sendable {
    case null
    case int(Int64)
    case double(Double)
    case decimal(Decimal)
    case string(String)
    /// Seconds since 2001-01-01 00:00:00 UTC, as Core Data stores dates.
    case date(Double)
    case data(Data)
    case uuid(UUID)
    /// An absolute URL's text.
    case url(String)
    /// The destination of a to-one relationship.
    case reference(RowKey)
    /// The app's value of a transformable attribute, or of a transient one without a type; stores have its data.
    case object(BoxedValue)

    /// Texts are equal when their bytes are: another encoding of an accent is a change to save, though Swift's strings
    /// consider it equal.
    package static func == (a: StoredValue, b: StoredValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)): a == b
        case (.decimal(let a), .decimal(let b)): a == b
        case (.string(let a), .string(let b)), (.url(let a), .url(let b)): a == b && a.utf8.elementsEqual(b.utf8)
        case (.data(let a), .data(let b)): a == b
        case (.uuid(let a), .uuid(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        case (.object(let box), .data(let data)), (.data(let data), .object(let box)): box.data == data
        case (.null, _), (.int, _), (.double, _), (.decimal, _), (.string, _), (.date, _), (.data, _), (.uuid, _), (.url, _),
            (.reference, _), (.object, _):
            false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null, .object, .data: break
        case .int(let value): hasher.combine(value)
        case .double(let value), .date(let value): hasher.combine(value)
        case .decimal(let value): hasher.combine(value)
        case .string(let value), .url(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .reference(let key): hasher.combine(key)
        }
    }

    package var isNull: Bool { if case .null = self { true } else { false } }

    package var reference: RowKey? { if case .reference(let key) = self { key } else { nil } }
}

/// A row read from, or to be written to, a store.
package struct Row: Hashable, Sendable {
    package var key: RowKey
    /// Optimistic-lock version: 1 after the insert, incremented by each saved update (`Z_OPT`).
    package var version: Int64
    /// One value per slot of ``ResolvedEntity/slots``.
    package var values: ContiguousArray<StoredValue>

    package init(key: RowKey, version: Int64, values: ContiguousArray<StoredValue>) {
        self.key = key
        self.version = version
        self.values = values
    }
}
