// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The queries that a field supports: the index words of the schema.
///
/// Source: Apple, *Integrating a Text-Based Schema into Your Workflow*.
package struct FieldIndexes: OptionSet, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Equality, membership, list and distance filters.
    package static let queryable = FieldIndexes(rawValue: 1)
    /// Ranges, prefixes and order.
    package static let sortable = FieldIndexes(rawValue: 2)
    /// Words of text.
    package static let searchable = FieldIndexes(rawValue: 4)

    /// All that a type of field can have.
    package static func possible(forType type: String) -> FieldIndexes {
        switch type {
        case "STRING": [.queryable, .sortable, .searchable]
        case "INT64", "DOUBLE", "NUMBER", "NUMBER_INT64", "NUMBER_DOUBLE", "TIMESTAMP", "LOCATION": [.queryable, .sortable]
        case "REFERENCE", "INT64_LIST", "DOUBLE_LIST", "NUMBER_LIST", "NUMBER_INT64_LIST", "NUMBER_DOUBLE_LIST", "TIMESTAMP_LIST",
            "LOCATION_LIST", "REFERENCE_LIST":
            [.queryable]
        case "STRING_LIST": [.queryable, .searchable]
        default: []
        }
    }

    /// The indexes of a field that is created by use: all that its type allows, as exported schemas of apps have it.
    ///
    /// Source: published exports of mirrored schemas; Apple's documents leave it open (unverified).
    package static func byUse(type: String, isEncrypted: Bool) -> FieldIndexes {
        isEncrypted ? [] : possible(forType: type)
    }
}

/// One index that storage keeps for the records of a type in a partition.
///
/// An index is created when a query first needs it, and is updated from then on: records without queries
/// cost nothing but themselves.
package struct RecordIndex: Hashable, Sendable {
    /// Never renumbered.
    package enum Kind: Int, Hashable, Sendable {
        /// One entry for each value; the elements of a list are values each.
        case values = 1
        /// One entry for each word.
        case tokens = 2
    }

    /// Stands for all text fields of a type in an index of words.
    static let allFields = "*"

    package var recordType: String
    /// Name of a field, a system field's name in the schema, or ``allFields``.
    package var field: String
    package var kind: Kind

    package init(recordType: String, field: String, kind: Kind) {
        self.recordType = recordType
        self.field = field
        self.kind = kind
    }

    /// The field's name in queries.
    package var fieldName: String { QueryKey.SystemField(internalName: field)?.rawValue ?? field }

    /// The index that lists all records of a type by name.
    static func names(of recordType: String) -> RecordIndex {
        RecordIndex(recordType: recordType, field: QueryKey.SystemField.recordName.internalName, kind: .values)
    }

    /// Keys of a record at most. One with more has the key ``IndexKey/overflow`` alone, to which every condition on lists and words leads.
    static let keysPerRecord = 1000

    /// Keys under which a record is listed, in order and each once. A record that lacks the field has the key `IndexKey.missing`, so
    /// that an index of values has every record of its type.
    package func keys(of record: Record) -> [[UInt8]] {
        switch kind {
        case .values:
            let value =
                QueryKey.SystemField(internalName: field).map { $0.value(in: record) } ?? record.fields[field]?.value
            return IndexKey.keys(of: value, atMost: Self.keysPerRecord)
        case .tokens:
            let texts = field == Self.allFields ? record.fields.values.map(\.value) : [record.fields[field]?.value]
            var words: Set<String> = []
            for text in texts {
                words.formUnion(Tokens.words(in: text, atMost: Self.keysPerRecord + 1))
                guard words.count <= Self.keysPerRecord else { return [IndexKey.overflow] }
            }
            return words.map { IndexKey.key(ofToken: $0) }.sorted(by: IndexKey.isLess)
        }
    }
}

extension QueryKey.SystemField {
    /// The value that a filter or a sort sees.
    func value(in record: Record) -> FieldValue? {
        switch self {
        case .recordName: .reference(RecordReference(recordName: record.recordName))
        case .createdTimestamp: record.created.map { .timestamp($0.timestamp) }
        case .modifiedTimestamp: record.modified.map { .timestamp($0.timestamp) }
        case .createdUserRecordName: record.created.map { .reference(RecordReference(recordName: $0.userRecordName)) }
        case .modifiedUserRecordName: record.modified.map { .reference(RecordReference(recordName: $0.userRecordName)) }
        case .parent: record.sharing.parent.map { .reference(RecordReference(recordName: $0)) }
        // Not stored with the record: callers complete the record before they compare it.
        case .share: record.sharing.share.map { .reference(RecordReference(recordName: $0)) }
        }
    }

    /// Wire name of the type.
    package var type: String {
        switch self {
        case .createdTimestamp, .modifiedTimestamp: "TIMESTAMP"
        case .recordName, .createdUserRecordName, .modifiedUserRecordName, .parent, .share: "REFERENCE"
        }
    }
}
