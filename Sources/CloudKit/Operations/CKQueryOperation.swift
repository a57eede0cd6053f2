// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// Fetches one page of the records that a query matches.
///
/// A record that cannot be had does not fail the operation.
///
/// Source: Apple's documentation of `CKQueryOperation`.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {  // As its superclass.
    /// Where a query was left: a position, not a picture of the results.
    public typealias Cursor = CKQueryCursor

    /// Stands for as many as the server gives at once.
    public static let maximumResults = 0

    public var query: CKQuery?
    public var cursor: Cursor?
    /// Nil searches all zones; without effect beside a cursor.
    public var zoneID: CKRecordZone.ID?
    public var resultsLimit = CKQueryOperation.maximumResults
    /// Nil wants all fields, an empty list none.
    public var desiredKeys: [CKRecord.FieldKey]?

    @preconcurrency public var recordMatchedBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called with a cursor if there is more.
    @preconcurrency public var queryResultBlock: (@Sendable (Result<Cursor?, any Error>) -> Void)?
    /// Older form of ``recordMatchedBlock``, without errors.
    @preconcurrency public var recordFetchedBlock: (@Sendable (CKRecord) -> Void)?
    /// Older form of ``queryResultBlock``.
    @preconcurrency public var queryCompletionBlock: (@Sendable (Cursor?, (any Error)?) -> Void)?

    private let next = Locked<Cursor?>(nil)

    public override init() { super.init() }

    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

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
        await tell {
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

/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
public final class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, Sendable {
    let position: QueryPosition

    init(_ position: QueryPosition) { self.position = position }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKQueryCursor)?.position == position }
    public override var hash: Int { position.hashValue }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "query"),
            let query = try? Query(json: Array(Data(referencing: data))),
            let marker = coder.decodeObject(of: NSString.self, forKey: "marker")
        else { return nil }
        let zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID")
        position = QueryPosition(query: query, zoneID: zoneID, marker: marker as String)
    }

    public func encode(with coder: NSCoder) {
        coder.encode(NSData(data: Data(position.query.encoded())), forKey: "query")
        coder.encode((position.marker ?? "") as NSString, forKey: "marker")
        coder.encode(position.zoneID, forKey: "zoneID")
    }
}
