// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A value coded as the fields that differ from ``blank``.
///
/// A missing field keeps its blank value, so that a later release can add fields and still decode an earlier one's
/// values.
package protocol SparselyCoded: Codable {
    static var blank: Self { get }
    static var fields: [CodedField<Self>] { get }
}

extension SparselyCoded {
    package init(from decoder: any Decoder) throws {
        self = Self.blank
        let container = try decoder.container(keyedBy: FieldName.self)
        for field in Self.fields { try field.read(&self, container) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: FieldName.self)
        let blank = Self.blank
        for field in Self.fields { try field.write(self, blank, &container) }
    }
}

/// The coding of one field.
package struct CodedField<Value>: Sendable {
    package let fieldName: String
    let read: @Sendable (inout Value, KeyedDecodingContainer<FieldName>) throws -> Void
    let write: @Sendable (Value, Value, inout KeyedEncodingContainer<FieldName>) throws -> Void

    /// A field that may be missing.
    init<Field: Codable & Equatable & SendableMetatype>(
        _ name: String, _ path: any WritableKeyPath<Value, Field> & Sendable
    ) {
        fieldName = name
        let name = FieldName(name)
        read = { value, container in
            if let field = try container.decodeIfPresent(Field.self, forKey: name) { value[keyPath: path] = field }
        }
        write = { value, blank, container in
            let field = value[keyPath: path]
            if field != blank[keyPath: path] { try container.encode(field, forKey: name) }
        }
    }

    /// A required field.
    init<Field: Codable & SendableMetatype>(required name: String, _ path: any WritableKeyPath<Value, Field> & Sendable) {
        fieldName = name
        let name = FieldName(name)
        read = { value, container in value[keyPath: path] = try container.decode(Field.self, forKey: name) }
        write = { value, _, container in try container.encode(value[keyPath: path], forKey: name) }
    }
}

package struct FieldName: CodingKey, Sendable {
    package let stringValue: String
    package var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    package init?(stringValue: String) { self.stringValue = stringValue }
    package init?(intValue: Int) { nil }
}
