// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Selects records, and their order.
///
/// Source: *CloudKit Web Services Reference*, "Query Dictionary", "Filter Dictionary", "Sort Descriptor Dictionary".
package struct Query: Hashable, Sendable {
    package var recordType: String
    /// Joined by AND.
    package var filters: [QueryFilter]
    /// Applied in order.
    package var sorts: [QuerySort]

    package init(recordType: String, filters: [QueryFilter] = [], sorts: [QuerySort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}

/// The field of a filter or a sort.
package enum QueryKey: Hashable, Sendable {
    case field(String)
    case system(SystemField)
    /// All searchable fields of the type, with the two token comparators only. On the wire: no field name.
    case allSearchable

    package enum SystemField: String, Hashable, Sendable, CaseIterable {
        case recordName
        case share
        case parent
        case createdUserRecordName
        case createdTimestamp
        case modifiedTimestamp
        case modifiedUserRecordName

        /// The name in the schema, which clients may send as a field name.
        package var internalName: String {
            switch self {
            case .recordName: "___recordID"
            case .share: "___share"
            case .parent: "___parent"
            case .createdUserRecordName: "___createdBy"
            case .createdTimestamp: "___createTime"
            case .modifiedTimestamp: "___modTime"
            case .modifiedUserRecordName: "___modifiedBy"
            }
        }

        package init?(internalName: String) {
            guard internalName.hasPrefix("___"), let field = Self.allCases.first(where: { $0.internalName == internalName })
            else { return nil }
            self = field
        }
    }

    /// Creates a key from any of a field's names: a system field's schema name isn't a field of the record.
    package init(fieldName: String) {
        self = SystemField(internalName: fieldName).map { .system($0) } ?? .field(fieldName)
    }
}

package struct QueryFilter: Hashable, Sendable {
    package enum Comparator: String, Hashable, Sendable, CaseIterable {
        case equals = "EQUALS"
        case notEquals = "NOT_EQUALS"
        case lessThan = "LESS_THAN"
        case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
        case greaterThan = "GREATER_THAN"
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        case near = "NEAR"
        case containsAllTokens = "CONTAINS_ALL_TOKENS"
        case containsAnyTokens = "CONTAINS_ANY_TOKENS"
        case isIn = "IN"
        case isNotIn = "NOT_IN"
        case listContains = "LIST_CONTAINS"
        case notListContains = "NOT_LIST_CONTAINS"
        case listContainsAny = "LIST_CONTAINS_ANY"
        case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
        case listContainsAll = "LIST_CONTAINS_ALL"
        case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
        case beginsWith = "BEGINS_WITH"
        case notBeginsWith = "NOT_BEGINS_WITH"
        case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
        case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

        /// Creates a comparator from its name in Web Services, or from that of the management API.
        ///
        /// Source: CKTool JS, `FilterType`.
        package init?(name: String) {
            switch name {
            case "LIST_NOT_CONTAINS": self = .notListContains
            case "LIST_NOT_CONTAINS_ANY": self = .notListContainsAny
            case "LIST_NOT_CONTAINS_ALL": self = .notListContainsAll
            default: self.init(rawValue: name)
            }
        }
    }

    package var key: QueryKey
    package var comparator: Comparator
    package var value: FieldValue?
    /// The radius in metres, with `.near` only. The centre is `value`.
    package var distance: Double?

    package init(_ key: QueryKey, _ comparator: Comparator, _ value: FieldValue?, distance: Double? = nil) {
        self.key = key
        self.comparator = comparator
        self.value = value
        self.distance = distance
    }
}

package struct QuerySort: Hashable, Sendable {
    package var key: QueryKey
    package var ascending: Bool
    /// The location from which distances are measured.
    package var relativeLocation: RecordLocation?

    package init(_ key: QueryKey, ascending: Bool = true, relativeLocation: RecordLocation? = nil) {
        self.key = key
        self.ascending = ascending
        self.relativeLocation = relativeLocation
    }
}
