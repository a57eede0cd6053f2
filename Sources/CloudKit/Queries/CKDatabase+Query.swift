// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension CKDatabase {
    /// Fetches the first page of the records that a query matches.
    ///
    /// - Parameters:
    ///   - query: The type, the predicate and the order of the records.
    ///   - zoneID: `nil` searches all zones of the database. The shared database needs a zone.
    ///   - desiredKeys: `nil` fetches all fields, an empty list none.
    ///   - resultsLimit: Maximum number of records of the page. 0 leaves it to the server.
    /// - Throws: ``CKError`` with `.invalidArguments` and the part of the query that the service cannot run, or why the
    ///   request failed.
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await page(QueryPosition(query: query.wire(), zoneID: zoneID), desiredKeys, resultsLimit)
    }

    /// Fetches the next page. Records that were saved or deleted since the previous page may be missing or repeated.
    ///
    /// - Throws: ``CKError`` if the request failed.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await page(queryCursor.position, desiredKeys, resultsLimit)
    }

    private func page(
        _ position: QueryPosition, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        let (matches, next) = try await DatabaseRequests(self).query(
            position, resultsLimit: resultsLimit > 0 ? resultsLimit : nil, desiredKeys: desiredKeys)
        return (matches.map { ($0.id, $0.result) }, next.map { CKQueryOperation.Cursor($0) })
    }

    /// Fetches the first page of a query; completion-handler form of
    /// `records(matching:inZoneWith:desiredKeys:resultsLimit:)`.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.records(
                matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        }
    }

    /// Fetches the next page of a query; completion-handler form of
    /// `records(continuingMatchFrom:desiredKeys:resultsLimit:)`.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.records(
                continuingMatchFrom: queryCursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        }
    }

    /// Fetches the first page of the records that a query matches, or the first error.
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.perform(query, inZoneWith: zoneID) }
    }

    /// Fetches the first page of the records that a query matches.
    ///
    /// - Throws: ``CKError`` if the request failed, or the error of the first record that failed.
    public func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        let page: (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?)
        page = try await records(matching: query, inZoneWith: zoneID)
        return try page.matchResults.map { try $0.1.get() }
    }

    /// Older form of ``perform(_:inZoneWith:)``, for code that states the type of the result.
    ///
    /// - Throws: ``CKError``, as ``perform(_:inZoneWith:)``.
    @available(*, deprecated, message: "use records(matching:inZoneWith:desiredKeys:resultsLimit:), with a result for each record")
    @_disfavoredOverload
    public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await perform(query, inZoneWith: zoneID)
    }
}
