// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

// Without a change feed, the public database is read by queries for modified records, which need indexes.

extension SyncDatabase {
    /// Returns the next records; none of a record type that does not exist yet.
    func queryPage(after token: String?, generation: Int64?, recordsMax: Int) async throws -> ImportPage {
        var position = QueryPosition(token)
        let types = mapping.recordTypes
        guard !types.isEmpty else {
            return ImportPage(
                records: [], deletions: [], askedWith: token, token: position.text, moreComing: false, generation: generation,
                isExhaustive: false)
        }
        var answer: QueryRecordsResponse?
        var request = position.request(of: types, limit: recordsMax)
        do {
            answer = try await query(request)
        } catch let failure as CloudFailure where failure.code == .invalidArguments && position.hasMarker {
            // Markers expire with the server's secrets. Records that were seen before are known by their versions.
            position.dropMarker()
            request = position.request(of: types, limit: recordsMax)
            answer = try await query(request)
        }
        var records: [Record] = []
        for result in answer?.results ?? [] {
            switch result {
            case .record(let record): records.append(record.withoutFieldStates)
            case .failure(_, let error, _):
                // Later queries begin behind this page: the record would be missing until its next change.
                let failure = CloudFailure(error)
                if Self.passing.contains(failure.code) { throw failure }
            }
        }
        let moreComing = position.advance(
            request.query.recordType, records: records, marker: answer?.continuationMarker, types: types)
        return ImportPage(
            records: records, deletions: [], askedWith: token, token: position.text, moreComing: moreComing, generation: generation,
            isExhaustive: false)
    }

    /// Errors of records with which a page is requested again. A record with another error would stop all imports.
    private static let passing: Set<AppErrorCode> = [.serviceUnavailable, .requestRateLimited, .zoneBusy]

    /// - Returns: nil for a record type that the server does not know.
    private func query(_ request: QueryRecordsRequest) async throws -> QueryRecordsResponse? {
        do {
            return try await client.queryRecords(request)
        } catch {
            if error.code == .unknownItem { return nil }
            guard error.code == .invalidArguments, error.localizedDescription.contains("is not marked") else { throw CloudFailure(error) }
            // One index is missing: the check names all that are.
            try await checkIndexes()
            throw CloudFailure(error)
        }
    }

    /// - Throws: `CloudFailure` that names every missing index, with the command that adds them.
    func checkIndexes() async throws {
        var missing: [(type: String, fields: [String])] = []
        for type in mapping.recordTypes {
            var fields: [String] = []
            let never = FieldValue.timestamp(253_402_300_799_000)
            let time = QueryKey.system(.modifiedTimestamp)
            for (filters, field) in [
                ([], "recordName QUERYABLE"), ([QueryFilter(time, .equals, never)], "modifiedTimestamp QUERYABLE"),
                ([QueryFilter(time, .greaterThan, never)], "modifiedTimestamp SORTABLE"),
            ] {
                do {
                    _ = try await client.queryRecords(
                        QueryRecordsRequest(query: Query(recordType: type, filters: filters), resultsLimit: 1))
                } catch {
                    switch error.code {
                    case .unknownItem: break
                    case .invalidArguments where error.localizedDescription.contains("is not marked"): fields.append(field)
                    default: throw CloudFailure(error)
                    }
                }
            }
            if !fields.isEmpty { missing.append((type, fields)) }
        }
        if missing.isEmpty { return }
        let list = missing.map { "\($0.type): \($0.fields.joined(separator: ", "))" }.joined(separator: "; ")
        throw CloudFailure(
            .invalidArguments,
            "the public database lacks indexes that importing needs (\(list)); \(IndexCommand.text(client))")
    }
}

/// The commands that add missing indexes at the server.
enum IndexCommand {
    static func text(_ client: CloudDatabaseClient) -> String {
        if !client.dialect.hasSchemaCommands { return "add them to these types in the CloudKit Console" }
        return """
            write the schema to a file with: tarn schema export --container \(client.containerIdentifier) --output-file FILE; mark \
            "___recordID" QUERYABLE and "___modTime" QUERYABLE SORTABLE in these types; then: \
            tarn schema import --container \(client.containerIdentifier) --file FILE
            """
    }
}
