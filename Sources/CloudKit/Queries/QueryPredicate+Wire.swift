// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import PredicateKit

/// Predicates from the wire, and sort descriptors.
extension QueryPredicate {
    private static let descriptorKeys: [QueryKey.SystemField: String] = [
        .recordName: "recordID", .createdTimestamp: "creationDate", .modifiedTimestamp: "modificationDate",
        .createdUserRecordName: "creatorUserRecordID", .modifiedUserRecordName: "lastModifiedUserRecordID",
        .parent: CKRecord.SystemFieldKey.parent, .share: CKRecord.SystemFieldKey.share,
    ]

    /// - Throws: ``CKError`` with `.invalidArguments` if a descriptor has no key.
    static func sort(_ descriptor: NSSortDescriptor) throws(CKError) -> QuerySort {
        guard let key = descriptor.key, !descriptor.hasComparator else {
            throw CKError(
                .invalidArguments, "the query cannot be sorted by a comparator; name a field with NSSortDescriptor(key:ascending:)")
        }
        guard !key.contains(".") else {
            throw CKError(.invalidArguments, "the query cannot be sorted by \(key): the service does not follow references")
        }
        let system = descriptorKeys.first { $0.value == key }?.key
        return QuerySort(
            system.map { .system($0) } ?? QueryKey(fieldName: key), ascending: descriptor.ascending,
            relativeLocation: (descriptor as? CKLocationSortDescriptor)?.relativeLocation.wire)
    }

    static func descriptor(_ sort: QuerySort) -> NSSortDescriptor {
        if let location = sort.relativeLocation {
            return CKLocationSortDescriptor(key: name(sort.key), relativeLocation: CLLocation(location))
        }
        return NSSortDescriptor(key: name(sort.key), ascending: sort.ascending)
    }

    private static func name(_ key: QueryKey) -> String {
        switch key {
        case .field(let name): name
        case .system(let field): descriptorKeys[field] ?? field.internalName
        case .allSearchable: "self"
        }
    }

    /// Converts filters to a predicate.
    static func predicate(_ filters: [QueryFilter], scope: CKDatabase.Scope) -> NSPredicate {
        let parts = filters.map { condition($0, scope) }
        switch parts.count {
        case 0: return NSPredicate(value: true)
        case 1: return NSPredicate.made(parts[0])
        default: return NSPredicate.made(.and(parts))
        }
    }

    private static func condition(_ filter: QueryFilter, _ scope: CKDatabase.Scope) -> PredicateKit.Predicate {
        let left = filter.key == .allSearchable ? PredicateKit.Expression.selfObject : .keyPath([name(filter.key)])
        let right = PredicateKit.Expression.constant(filter.value.map { value($0, scope) } ?? .null)
        func plain(_ comparator: Comparison.Operator, _ modifier: Comparison.Modifier = .direct) -> PredicateKit.Predicate {
            .comparison(Comparison(left, comparator, right, modifier: modifier))
        }
        switch filter.comparator {
        case .equals: return plain(.equalTo)
        case .notEquals: return plain(.notEqualTo)
        case .lessThan: return plain(.lessThan)
        case .lessThanOrEquals: return plain(.lessThanOrEqualTo)
        case .greaterThan: return plain(.greaterThan)
        case .greaterThanOrEquals: return plain(.greaterThanOrEqualTo)
        case .containsAllTokens, .containsAnyTokens: return plain(.contains)
        case .isIn: return plain(.in)
        case .isNotIn: return .not(plain(.in))
        case .listContains: return plain(.contains)
        case .notListContains: return .not(plain(.contains))
        case .listContainsAny, .listContainsAll: return plain(.in, .any)
        case .notListContainsAny, .notListContainsAll: return .not(plain(.in, .any))
        case .beginsWith: return plain(.beginsWith)
        case .notBeginsWith: return .not(plain(.beginsWith))
        case .listMemberBeginsWith: return plain(.beginsWith, .any)
        case .notListMemberBeginsWith: return .not(plain(.beginsWith, .any))
        case .near:
            let distance = PredicateKit.Expression.function("distanceToLocation:fromLocation:", [left, right])
            return .comparison(Comparison(distance, .lessThan, .constant(.double(filter.distance ?? 0))))
        }
    }

    private static func value(_ value: FieldValue, _ scope: CKDatabase.Scope) -> PredicateValue {
        switch value {
        case .string(let text): .string(text)
        case .int64(let number): .int(number)
        case .double(let number): .double(number)
        case .timestamp(let milliseconds):
            .date(Double(milliseconds) / 1000 - Date.timeIntervalBetween1970AndReferenceDate)
        case .bytes(let bytes): .data(Data(bytes))
        case .reference(let reference): .object(PredicateObject(CKReference(reference, in: .default, scope: scope)))
        case .location(let location): .object(PredicateObject(CLLocation(location)))
        case .asset: .null
        case .list(let members, _): .list(members.map { self.value($0, scope) })
        }
    }
}
