// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// Fetches one page of the records that a query matches.
///
/// A record that cannot be fetched does not fail the operation.
///
/// Source: Apple's documentation of `CKQueryOperation`.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// The position after a page of results. It isn't a snapshot of the results.
    public typealias Cursor = CKQueryCursor

    /// As many results as the server returns in one page.
    public static let maximumResults = 0

    /// The query of the first page.
    public var query: CKQuery?
    /// The position of a later page.
    public var cursor: Cursor?
    /// The zone to search. `nil` searches all zones. Ignored if there is a cursor.
    public var zoneID: CKRecordZone.ID?
    /// Maximum number of records of the page.
    public var resultsLimit = CKQueryOperation.maximumResults
    /// The fields to fetch. `nil` fetches all fields, an empty list none.
    public var desiredKeys: [CKRecord.FieldKey]?

    /// Called for each match, or with the error of a record that could not be fetched.
    @preconcurrency public var recordMatchedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called at the end, with a cursor if there are more matches.
    @preconcurrency public var queryResultBlock: (@Sendable (Result<Cursor?, any Error>) -> Void)?
    /// Older form of ``recordMatchedBlock``, without errors.
    @preconcurrency public var recordFetchedBlock: (@Sendable (CKRecord) -> Void)?
    /// Older form of ``queryResultBlock``.
    @preconcurrency public var queryCompletionBlock: (@Sendable (Cursor?, (any Error)?) -> Void)?

    private let next = Locked<Cursor?>(nil)

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    /// Creates an operation that fetches the first page of a query.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// Creates an operation that fetches the next page.
    public convenience init(cursor: Cursor) {
        self.init()
        self.cursor = cursor
    }

    override func carryOut(_ settings: OperationSettings) async throws {
        let position: QueryPosition
        if let cursor {
            position = cursor.position
        } else if let query {
            position = QueryPosition(query: try query.wire(), zoneID: zoneID)
        } else {
            throw CKError(.invalidArguments, "a query operation has neither a query nor a cursor")
        }
        let (matches, next) = try await run(settings).query(
            position, resultsLimit: resultsLimit > 0 ? resultsLimit : nil, desiredKeys: desiredKeys)
        self.next.update { $0 = next.map { Cursor($0) } }
        await callBlock {
            for match in matches {
                self.recordMatchedBlock?(match.id, match.result)
                if case .success(let record) = match.result { self.recordFetchedBlock?(record) }
            }
        }
    }

    override func conclude(_ result: Result<Void, any Error>) {
        queryResultBlock?(result.map { next.value })
        queryCompletionBlock?(next.value, result.failure)
    }
}

/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
public final class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, Sendable {
    let position: QueryPosition

    init(_ position: QueryPosition) { self.position = position }

    /// Returns whether an object is an equal cursor.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKQueryCursor)?.position == position }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { position.hashValue }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived cursor. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "query"),
            let query = try? Query(json: Array(Data(referencing: data))),
            let marker = coder.decodeObject(of: NSString.self, forKey: "marker")
        else { return nil }
        let zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID")
        position = QueryPosition(query: query, zoneID: zoneID, marker: marker as String)
    }

    /// Encodes the cursor.
    public func encode(with coder: NSCoder) {
        coder.encode(NSData(data: Data(position.query.encoded())), forKey: "query")
        coder.encode((position.marker ?? "") as NSString, forKey: "marker")
        coder.encode(position.zoneID, forKey: "zoneID")
    }
}
