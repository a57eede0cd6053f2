// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The columns to read for rows of an entity and its subentities, and their decoding for each concrete entity.
struct ReadShape: Sendable {
    struct Decoder: Sendable {
        let number: Int64
        let entity: Int
        let slots: [Slot]
    }

    enum Slot: Sendable {
        case null
        case attribute(Int32, StorageKind)
        case external(Int32)
        case reference(Int32, entityColumn: Int32?, destination: Int)
    }

    /// `Z_PK`, `Z_ENT` and `Z_OPT` precede these.
    static let fixedColumns = ["Z_PK", "Z_ENT", "Z_OPT"]
    let columns: [String]
    let decoders: [Decoder]

    init(_ hierarchy: [(number: Int64, entity: Int, slots: [SlotLayout])]) {
        var columns: [String] = []
        var columnIndexes: [String: Int32] = [:]
        func columnIndex(_ column: String) -> Int32 {
            if let existingIndex = columnIndexes[column] { return existingIndex }
            let newIndex = Int32(Self.fixedColumns.count + columns.count)
            columns.append(column)
            columnIndexes[column] = newIndex
            return newIndex
        }
        decoders = hierarchy.map { number, entity, slots in
            Decoder(
                number: number, entity: entity,
                slots: slots.map { slot in
                    switch slot {
                    case .transient: .null
                    case .attribute(let column, .external): .external(columnIndex(column))
                    case .attribute(let column, let kind): .attribute(columnIndex(column), kind)
                    case .reference(let reference):
                        .reference(
                            columnIndex(reference.column), entityColumn: reference.entityColumn.map(columnIndex),
                            destination: reference.destination)
                    }
                })
        }
        self.columns = columns
    }

    func selectList(_ alias: String) -> String {
        (Self.fixedColumns + columns).map { "\(alias).\(identifier($0))" }.joined(separator: ", ")
    }

    /// - Returns: nil for a row of another entity.
    func decode(_ statement: PreparedStatement, _ layout: StoreLayout, store: UInt16) -> Row? {
        let number = statement.int(1)
        guard let decoder = decoders.first(where: { $0.number == number }) else { return nil }
        let slots = decoder.slots
        let values = ContiguousArray<StoredValue>(unsafeUninitializedCapacity: slots.count) { buffer, count in
            for index in 0..<slots.count {
                let value = Self.value(slots[index], statement, layout, store)
                (buffer.baseAddress! + index).initialize(to: value)
            }
            count = slots.count
        }
        return Row(
            key: RowKey(store: store, entity: decoder.entity, primaryKey: statement.int(0)),
            version: statement.int(2), values: values)
    }

    /// Copies the current row without decoding its values.
    ///
    /// - Returns: Whether the shape covers the row's entity.
    @discardableResult
    func pack(_ statement: PreparedStatement, _ layout: StoreLayout, into chunks: inout [RowChunk], store: UInt16) -> Bool {
        guard let decoder = decoder(of: statement) else { return false }
        if chunks.last?.hasRoom(slots: decoder.slots.count) != true { chunks.append(RowChunk(store: store)) }
        Self.pack(decoder, statement, layout, into: chunks[chunks.count - 1], store: store)
        return true
    }

    /// Copies the current row into an empty chunk.
    ///
    /// - Returns: Whether the shape covers the row's entity.
    func pack(_ statement: PreparedStatement, _ layout: StoreLayout, into chunk: RowChunk, store: UInt16) -> Bool {
        guard let decoder = decoder(of: statement) else { return false }
        Self.pack(decoder, statement, layout, into: chunk, store: store)
        return true
    }

    @inline(__always)
    private func decoder(of statement: PreparedStatement) -> Decoder? {
        let number = statement.int(1)
        return decoders.count == 1 && decoders[0].number == number ? decoders[0] : decoders.first { $0.number == number }
    }

    @inline(__always)
    private static func pack(
        _ decoder: Decoder, _ statement: PreparedStatement, _ layout: StoreLayout, into chunk: RowChunk, store: UInt16
    ) {
        let slots = decoder.slots
        chunk.append(entity: decoder.entity, primaryKey: statement.int(0), version: statement.int(2), slots: slots.count) { row in
            for index in slots.indices { pack(slots[index], statement, layout, store, &row) }
        }
    }

    private static func pack(
        _ slot: Slot, _ statement: PreparedStatement, _ layout: StoreLayout, _ store: UInt16, _ row: inout RowChunk.Writer
    ) {
        switch slot {
        case .null: row.put(.null, 0)
        case .attribute(let column, let kind):
            switch kind {
            case .integer, .key: if statement.isNull(column) { row.put(.null, 0) } else { row.put(.int, statement.int(column)) }
            case .float: if statement.isNull(column) { row.put(.null, 0) } else { row.put(.double, statement.double(column)) }
            case .timestamp: if statement.isNull(column) { row.put(.null, 0) } else { row.put(.date, statement.double(column)) }
            case .text: packText(.string, column, kind, statement, &row)
            case .uri: packText(.url, column, kind, statement, &row)
            case .uuid:
                let (start, length) = statement.blobBytes(column)
                if let start, length == 16 { row.put(.uuid, start, 16) } else { row.put(.null, 0) }
            case .blob:
                let (start, length) = statement.blobBytes(column)
                if length > RowChunk.bytesMax {
                    row.put(big: kind.decode(statement, column))
                } else if start == nil, statement.isNull(column) {
                    row.put(.null, 0)
                } else {
                    row.put(.data, start, length)
                }
            default:
                let value = kind.decode(statement, column)
                if value.isNull { row.put(.null, 0) } else { row.put(big: value) }
            }
        case .external(let column):
            let value = external(column, statement, layout)
            if value.isNull { row.put(.null, 0) } else { row.put(big: value) }
        case .reference(let column, let entityColumn, let destination):
            if statement.isNull(column) { return row.put(.null, 0) }
            var entity = destination
            // A key without an entity belongs to the declared destination.
            if let entityColumn, let concrete = layout.entityIndex(number: statement.int(entityColumn)) { entity = concrete }
            row.put(.reference, statement.int(column), aux: entity)
        }
    }

    /// A value with a missing file reads as nil; the check of a store reports it.
    static func external(_ column: Int32, _ statement: PreparedStatement, _ layout: StoreLayout) -> StoredValue {
        guard let bytes = statement.blob(column) else { return .null }
        switch ExternalValue(bytes) {
        case .inline(let value): return .data(Data(value))
        case .file(let name): return (layout.external?.contents(name)).map(StoredValue.data) ?? .null
        }
    }

    private static func packText(
        _ tag: RowChunk.Tag, _ column: Int32, _ kind: StorageKind, _ statement: PreparedStatement, _ row: inout RowChunk.Writer
    ) {
        let (start, length) = statement.textBytes(column)
        if length > RowChunk.bytesMax {
            row.put(big: kind.decode(statement, column))
        } else if let start {
            row.put(tag, start, length)
        } else {
            row.put(.null, 0)
        }
    }

    private static func value(
        _ slot: Slot, _ statement: PreparedStatement, _ layout: StoreLayout, _ store: UInt16
    ) -> StoredValue {
        switch slot {
        case .null: return .null
        case .attribute(let column, let kind): return kind.decode(statement, column)
        case .external(let column): return external(column, statement, layout)
        case .reference(let column, let entityColumn, let destination):
            if statement.isNull(column) { return .null }
            var entity = destination
            // A key without an entity belongs to the declared destination.
            if let entityColumn, let concrete = layout.entityIndex(number: statement.int(entityColumn)) {
                entity = concrete
            }
            return .reference(RowKey(store: store, entity: entity, primaryKey: statement.int(column)))
        }
    }
}

extension StorageKind {
    func decode(_ statement: PreparedStatement, _ column: Int32) -> StoredValue {
        if statement.isNull(column) { return .null }
        switch self {
        case .integer, .key: return .int(statement.int(column))
        case .float: return .double(statement.double(column))
        case .timestamp: return .date(statement.double(column))
        case .decimal: return DecimalStorage.decode(statement.value(column)).map(StoredValue.decimal) ?? .null
        case .text: return statement.text(column).map(StoredValue.string) ?? .null
        case .uri: return statement.text(column).map(StoredValue.url) ?? .null
        case .uuid: return statement.uuid(column).map(StoredValue.uuid) ?? .null
        case .blob, .external: return statement.blob(column).map(StoredValue.data) ?? .null
        }
    }
}
