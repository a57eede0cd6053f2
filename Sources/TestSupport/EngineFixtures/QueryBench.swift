// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

extension Bench {
    /// Gives the system fields of a type all the indexes they can have, as an operator does in the schema.
    package func indexSystemFields(ofType recordType: String = "Plant", _ call: Call? = nil) async throws {
        try await write(call) { _, unit, _ in
            var schema = try unit.schema(ofType: recordType) ?? RecordTypeSchema()
            for field in QueryKey.SystemField.allCases {
                schema.systemIndexes[field] = FieldIndexes.possible(forType: field.type).union(.queryable)
            }
            try unit.save(schema, ofType: recordType)
        }
    }

    /// One page, with indexes built as the service builds them.
    package func query(_ request: QueryRecordsRequest, as call: Call? = nil) async throws -> QueryRecordsResponse {
        while true {
            do {
                return try await read(call) { try $0.queries.page(request, in: $1, $2) }
            } catch let missing as IndexesMissing {
                var isDone = false
                while !isDone {
                    isDone = try await write(call) { engine, unit, _ in try engine.indexes.build(missing.indexes, in: unit).isComplete }
                }
            }
        }
    }

    /// Record names of all pages, and how many pages there were.
    package func names(
        _ query: Query, in zoneID: ZoneID? = Bench.garden, zoneWide: Bool = false, limit: Int? = nil, as call: Call? = nil
    ) async throws -> (names: [String], pages: Int) {
        var request = QueryRecordsRequest(query: query, zoneID: zoneID, zoneWide: zoneWide, resultsLimit: limit)
        var names: [String] = []
        var pages = 0
        repeat {
            let response = try await self.query(request, as: call)
            names += response.results.map(\.recordName)
            request.continuationMarker = response.continuationMarker
            pages += 1
        } while request.continuationMarker != nil && pages < 10_000
        return (names, pages)
    }
}

extension Query {
    package static func plants(_ filters: QueryFilter..., by sorts: [QuerySort] = []) -> Query {
        Query(recordType: "Plant", filters: filters, sorts: sorts)
    }
}
