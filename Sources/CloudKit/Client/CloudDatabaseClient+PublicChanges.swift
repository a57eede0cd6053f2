// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension CloudDatabaseClient {
    /// HTTP statuses of servers without this operation. Some check the credentials before the path.
    private static let refusals: Set<Int> = [400, 401, 403, 404, 421]

    /// Fetches a page of the public database's changes, deletions included.
    ///
    /// - Parameter isCounting: Asks the server to count the changes after this page, if it can.
    /// - Returns: `nil` if the server has no such feed.
    /// - Throws: ``CKError`` if the request failed.
    package func publicChanges(_ query: ZoneChangesQuery, isCounting: Bool = false) async throws(CKError) -> ZoneChangesResult? {
        guard dialect.mayHavePublicFeed else { return nil }
        let requestedCapabilities: Set<Capability> =
            isCounting ? [.publicChanges, .largePages, .remainingCount] : [.publicChanges, .largePages]
        var request = TransportRequest(
            method: "POST", target: .service(path: path(.zoneChanges, in: .public)), headers: headers(asking: requestedCapabilities),
            body: .bytes(ZoneChangesRequest(zones: [query]).encoded()), responseBytesMax: Limits.messageBytes)
        request.headers.add(HeaderNames.contentType, HeaderNames.json)
        let response = try await send(request)
        guard let granted = response.headers[HeaderNames.capabilities], Capability.parse(granted).contains(.publicChanges) else {
            // The status of a busy or unreachable server does not show if it has the feed.
            if Self.refusals.contains(response.status) { return nil }
            throw 200..<300 ~= response.status
                ? CKError.unreadable("the server's response is not a change feed", response) : CKError(response)
        }
        let changes: ZoneChangesResponse = try read(response)
        guard let result = changes.zones.first, changes.zones.count == 1 else {
            throw CKError.unreadable("the server's response lacks the requested zone", response)
        }
        return result
    }
}
