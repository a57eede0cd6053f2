// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// Selects records of one type, and their order.
///
/// The service runs a subset of the predicate language: comparisons of one field with a value, joined by AND; a
/// comparison may be negated. Anything else fails with `.invalidArguments` when the query runs, and the error names the
/// part.
///
/// Source: Apple's documentation of `CKQuery`, which raises an exception for some of those parts instead.
public final class CKQuery: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: predicates and sort descriptors are immutable; the list is behind a lock.
    /// The type of the records.
    public let recordType: CKRecord.RecordType
    /// The predicate that the records match.
    public let predicate: NSPredicate
    private let stored = Locked<Sorts>(Sorts())

    private struct Sorts: @unchecked Sendable {
        var descriptors: [NSSortDescriptor]?
    }

    /// Creates a query. An unsupported predicate fails when the query runs.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.recordType = recordType
        self.predicate = predicate
    }

    /// The order of the records. `nil` leaves it to the server.
    public var sortDescriptors: [NSSortDescriptor]? {
        get { stored.value.descriptors }
        set { stored.update { $0.descriptors = newValue } }
    }

    /// Returns an independent copy.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    /// - Throws: ``CKError`` with `.invalidArguments` if the service cannot run the query.
    func wire() throws(CKError) -> Query {
        var sorts: [QuerySort] = []
        for descriptor in sortDescriptors ?? [] { sorts.append(try QueryPredicate.sort(descriptor)) }
        return Query(recordType: recordType, filters: try QueryPredicate.filters(predicate), sorts: sorts)
    }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived query. Returns `nil` if the archive is damaged.
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

    /// Encodes the query.
    public func encode(with coder: NSCoder) {
        do throws(CKError) {
            coder.encode(NSData(data: Data(try wire().encoded())), forKey: "query")
        } catch {
            coder.failWithError(error)
        }
    }
}

/// Sorts by the distance from a location.
///
/// Not final, since the compiler cannot look up methods of a final subclass of Foundation's class on Linux.
///
/// Source: Apple's documentation of `CKLocationSortDescriptor`.
open class CKLocationSortDescriptor: NSSortDescriptor {
    private var location = CLLocation(latitude: 0, longitude: 0)

    /// Creates a descriptor that sorts by the distance of a field from a location.
    public convenience init(key: String, relativeLocation: CLLocation) {
        self.init(key: key, ascending: true)
        location = relativeLocation
    }

    /// The location from which distances are measured.
    public var relativeLocation: CLLocation { location }
}
