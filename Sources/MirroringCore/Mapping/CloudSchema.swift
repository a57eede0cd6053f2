// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// The record types that a model needs on the server, with every field they may ever have.
///
/// Source: *Reading CloudKit Records for Core Data*; the fields of a move between zones are observed in exported schemas.
package struct CloudSchema: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let type: FieldType
        package let isEncrypted: Bool
    }

    package struct RecordType: Hashable, Sendable {
        package let name: String
        /// In alphabetical order.
        package let fields: [Field]
    }

    /// In alphabetical order.
    package let recordTypes: [RecordType]

    package init(_ mapping: RecordMapping) {
        var types: [String: [String: Field]] = [:]
        for entity in mapping.entities.values {
            var fields = types[entity.recordType] ?? [:]
            func add(_ name: String, _ type: FieldType, isEncrypted: Bool = false) {
                fields[name] = Field(name: name, type: type, isEncrypted: isEncrypted)
            }
            add(MirrorNames.entityNameField, .string)
            add(MirrorNames.moveReceipt, .bytes)
            add(MirrorNames.moveReceipt + MirrorNames.assetSuffix, .asset)
            for property in entity.properties {
                switch property.kind {
                // An encrypted value is bytes, for any type.
                case .attribute(let attribute):
                    if let type = attribute.type.cloudType { add(property.fieldName, property.isEncrypted ? .bytes : type, isEncrypted: property.isEncrypted) }
                case .toOne, .rank, .merged: add(property.fieldName, .string)
                }
                if let asset = property.assetFieldName { add(asset, .asset) }
            }
            types[entity.recordType] = fields
        }
        if !mapping.links.isEmpty {
            let names = [MirrorNames.linkEntityNames, MirrorNames.linkRecordNames, MirrorNames.linkRelationships]
            types[MirrorNames.linkRecordType] = Dictionary(
                uniqueKeysWithValues: (mapping.hasOrderedLinks ? names + [MirrorNames.linkRanks] : names).map {
                    ($0, Field(name: $0, type: .string, isEncrypted: false))
                })
        }
        if mapping.entities.values.contains(where: { $0.properties.contains(where: \.isEncrypted) }) {
            types[MirrorNames.deviceApprovalType] = Dictionary(
                uniqueKeysWithValues: MirrorNames.DeviceApprovalField.allCases.map {
                    ($0.rawValue, Field(name: $0.rawValue, type: $0.type, isEncrypted: false))
                })
        }
        recordTypes = types.sorted { $0.key < $1.key }.map { name, fields in
            RecordType(name: name, fields: fields.values.sorted { $0.name < $1.name })
        }
    }

    /// The schema in CloudKit's schema language, with the grants that records made by use get.
    ///
    /// - Parameter isPublic: Whether the system fields that queries for changes need get their indexes.
    package func text(isPublic: Bool) -> String {
        var text = "DEFINE SCHEMA\n"
        for type in recordTypes {
            let system = isPublic ? [("\"___modTime\"", "TIMESTAMP QUERYABLE SORTABLE"), ("\"___recordID\"", "REFERENCE QUERYABLE")] : []
            let columns = system + type.fields.map { ($0.name, $0.declaration) }
            let width = columns.map { $0.0.count }.max() ?? 0
            text += "\n    RECORD TYPE \(type.name) (\n"
            for (name, declaration) in columns {
                text += "        \(name)\(String(repeating: " ", count: width - name.count + 1))\(declaration),\n"
            }
            text += "        GRANT WRITE TO \"_creator\",\n        GRANT CREATE TO \"_icloud\",\n        GRANT READ TO \"_world\"\n    );\n"
        }
        return text
    }
}

extension CloudSchema.Field {
    fileprivate var declaration: String {
        if isEncrypted { return "ENCRYPTED \(type.rawValue)" }
        switch type {
        case .string: return "STRING QUERYABLE SEARCHABLE SORTABLE"
        case .int64, .double, .timestamp: return "\(type.rawValue) QUERYABLE SORTABLE"
        case .asset: return "ASSET"
        default: return type.rawValue
        }
    }

    /// Any value of the field's type; nil for an asset, which has to be uploaded first.
    package var sample: FieldValue? {
        switch type {
        case .string: .string("sample")
        case .int64: .int64(1)
        case .double: .double(1.5)
        case .timestamp: .timestamp(0)
        case .bytes: .bytes([1])
        default: nil
        }
    }
}
