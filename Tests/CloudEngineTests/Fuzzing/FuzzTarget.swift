// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudEngine
import CloudWire

/// Decoders of bytes from the network or from an operator. None of them may trap, whichever the bytes are, and a decoded message
/// must be the same after it was written.
enum FuzzTarget: String, CaseIterable {
    /// Bodies of requests, and answers; the first byte chooses which.
    case request
    /// The schema language.
    case schema
    /// Queries that are checked and then asked of a record.
    case query
    /// Forms with a file.
    case multipart
    /// Tokens and addresses that the server authenticates; the first byte chooses which.
    case token
    /// Headers, paths and queries of addresses; the first byte chooses which.
    case header
    /// Authenticated texts of a sign-in, and what people type there; the first byte chooses which.
    case signIn
    /// Predicate formats, which commands and apps take from their users.
    case predicate
    /// The push stream, in pieces; the first byte is their size.
    case push
    /// Heads and bodies of a snapshot's frames.
    case snapshot

    /// - Returns: The defect; nil if bytes are read and written again alike, or rejected.
    func complaint(about bytes: [UInt8]) -> String? {
        switch self {
        case .request: Self.request(bytes)
        case .schema: Self.schema(bytes)
        case .query: Self.query(bytes)
        case .multipart: Self.multipart(bytes)
        case .token: Self.token(bytes)
        case .header: Self.header(bytes)
        case .signIn: Self.signIn(bytes)
        case .predicate: Self.predicate(bytes)
        case .push: Self.push(bytes)
        case .snapshot: Self.snapshot(bytes)
        }
    }

    // MARK: Schemas

    private static func schema(_ bytes: [UInt8]) -> String? {
        guard let schema = try? ContainerSchema(text: String(decoding: bytes, as: UTF8.self)) else { return nil }
        guard let again = try? ContainerSchema(text: schema.text) else { return "a schema cannot be read from what was printed" }
        return again == schema ? nil : "a schema is another after it was printed"
    }

    // MARK: Queries

    private static let plants: RecordTypeSchema = {
        var schema = RecordTypeSchema()
        for type in FieldType.allCases {
            let name = type.rawValue.lowercased()
            for (name, type) in [(name, type.rawValue), (name + "s", type.rawValue + "_LIST")] {
                schema.fields[name] = FieldSchema(
                    type: type, isEncrypted: false, indexes: FieldIndexes.possible(forType: type))
            }
        }
        schema.fields["sealed"] = FieldSchema(type: "STRING", isEncrypted: true)
        for field in QueryKey.SystemField.allCases { schema.systemIndexes[field] = FieldIndexes.possible(forType: field.type) }
        return schema
    }()

    private static let plant: Record = {
        var record = Record(recordName: "sage", recordType: "Plant", recordChangeTag: "1")
        record.fields = [
            "string": Field(.string("Sage and mint")), "strings": Field(.list([.string("a"), .string("B")], of: .string)),
            "int64": Field(.int64(3)), "int64s": Field(.list([.int64(1), .int64(2)], of: .int64)), "double": Field(.double(0.5)),
            "timestamp": Field(.timestamp(1000)), "bytes": Field(.bytes([1, 2])),
            "reference": Field(.reference(RecordReference(recordName: "bed"))),
            "location": Field(.location(RecordLocation(latitude: 48, longitude: 11))),
        ]
        record.created = RecordStamp(timestamp: 5, userRecordName: "_a")
        record.modified = RecordStamp(timestamp: 6, userRecordName: "_b")
        return record
    }()

    private static func query(_ bytes: [UInt8]) -> String? {
        guard let request = try? QueryRecordsRequest(json: bytes) else { return nil }
        let limits = Limits()
        for filter in request.query.filters {
            guard let checked = try? CheckedFilter(filter, in: plants, limits, caller: "_mia") else { continue }
            let matches = checked.matches(plant, inZone: ZoneID.defaultZoneName)
            var negated = filter
            guard let opposite = filter.comparator.opposite else { continue }
            negated.comparator = opposite
            guard let other = try? CheckedFilter(negated, in: plants, limits, caller: "_mia") else {
                return "a condition is taken, and its opposite is not"
            }
            if other.matches(plant, inZone: ZoneID.defaultZoneName) == matches { return "a condition and its opposite agree" }
            _ = checked.drivers(ofType: "Plant")
        }
        for sort in request.query.sorts { _ = try? CheckedSort(sort, in: plants)?.key(of: plant) }
        return nil
    }
}

extension QueryFilter.Comparator {
    /// The comparator that holds where this one does not.
    fileprivate var opposite: QueryFilter.Comparator? {
        switch self {
        case .equals: .notEquals
        case .isIn: .isNotIn
        case .listContains: .notListContains
        case .listContainsAny: .notListContainsAny
        case .listContainsAll: .notListContainsAll
        case .beginsWith: .notBeginsWith
        case .listMemberBeginsWith: .notListMemberBeginsWith
        default: nil
        }
    }
}
