// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Encodes values for columns; ``StorageKind/decode(_:_:)`` is the inverse.
enum StoredValueEncoding {
    static func bind(_ value: StoredValue, _ statement: PreparedStatement, _ index: Int32) throws(StoreError) {
        switch value {
        case .null: statement.bindNull(index)
        case .int(let value): statement.bind(value, index)
        case .double(let value), .date(let value): statement.bind(value, index)
        case .string(let value), .url(let value): try statement.bind(value, index)
        case .data(let value): try statement.bind(value, index)
        case .uuid(let value): statement.bind(value, index)
        case .decimal(let value): try statement.bind(DecimalStorage.encode(value), index)
        case .reference(let key): statement.bind(key.primaryKey, index)
        case .object(let box): if let data = box.data { try statement.bind(data, index) } else { statement.bindNull(index) }
        }
    }

    static func encode(_ value: StoredValue) -> SQLValue {
        switch value {
        case .null: .null
        case .int(let value): .int(value)
        case .double(let value), .date(let value): .double(value)
        case .string(let value), .url(let value): .text(value)
        case .data(let value): .blob(value)
        case .uuid(let value): .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
        case .decimal(let value): DecimalStorage.encode(value)
        case .reference(let key): .int(key.primaryKey)
        case .object(let box): box.data.map(SQLValue.blob) ?? .null
        }
    }
}
