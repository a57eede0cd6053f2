// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// Which records of one type are meant, and in which order.
///
/// The service runs a part of the predicate language only: comparisons of one field with a value, joined by AND, each
/// of which may be negated. Anything else fails with `.invalidArguments` when the query is run, with a sentence that
/// names the part.
///
/// Source: Apple's documentation of `CKQuery`, which raises an exception for some of those parts instead.
public final class CKQuery: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: predicates and sort descriptors are never changed after they were made; the list is behind a lock.
    public let recordType: CKRecord.RecordType
    public let predicate: NSPredicate
    private let stored = Locked<Sorts>(Sorts())

    private struct Sorts: @unchecked Sendable {
        var descriptors: [NSSortDescriptor]?
    }

    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.recordType = recordType
        self.predicate = predicate
    }

    public var sortDescriptors: [NSSortDescriptor]? {
        get { stored.value.descriptors }
        set { stored.update { $0.descriptors = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    /// - Throws: ``CKError`` with `.invalidArguments` for what the service cannot run.
    func wire() throws(CKError) -> Query {
        var sorts: [QuerySort] = []
        for descriptor in sortDescriptors ?? [] { sorts.append(try QueryPredicate.sort(descriptor)) }
        return Query(recordType: recordType, filters: try QueryPredicate.filters(predicate), sorts: sorts)
    }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "query"),
            let query = try? Query(json: Array(Data(referencing: data)))
        else { return nil }
        recordType = query.recordType
        predicate = QueryPredicate.predicate(query.filters, scope: .private)
        super.init()
        guard !query.sorts.isEmpty else { return }
        sortDescriptors = query.sorts.map(QueryPredicate.descriptor)
    }

    public func encode(with coder: NSCoder) {
        do throws(CKError) {
            coder.encode(NSData(data: Data(try wire().encoded())), forKey: "query")
        } catch {
            coder.failWithError(error)
        }
    }
}

/// Sorts by the distance of a place from another.
///
/// Not final: the compiler cannot look up methods of a final class whose superclass is this one of Foundation's on Linux.
///
/// Source: Apple's documentation of `CKLocationSortDescriptor`.
open class CKLocationSortDescriptor: NSSortDescriptor {
    private var location = CLLocation(latitude: 0, longitude: 0)

    public convenience init(key: String, relativeLocation: CLLocation) {
        self.init(key: key, ascending: true)
        location = relativeLocation
    }

    public var relativeLocation: CLLocation { location }
}
