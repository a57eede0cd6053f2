// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension CloudDatabaseClient {
    /// How a server refuses what it does not have, or has for nobody: some look at who asks before they look at what.
    private static let refusals: Set<Int> = [400, 401, 403, 404, 421]

    /// What changed in the public database, deletions included, where the server offers it.
    ///
    /// - Parameter isCounting: Whether the server, if it can, is to count what comes after the page.
    /// - Returns: Nil if the server has no such feed.
    package func publicChanges(_ query: ZoneChangesQuery, isCounting: Bool = false) async throws(CKError) -> ZoneChangesResult? {
        let asked: Set<Capability> = isCounting ? [.publicChanges, .largePages, .remainingCount] : [.publicChanges, .largePages]
        var request = TransportRequest(
            method: "POST", target: .service(path: path(.zoneChanges, in: .public)), headers: headers(asking: asked),
            body: .bytes(ZoneChangesRequest(zones: [query]).encoded()), responseBytesMax: Limits.messageBytes)
        request.headers.add(HeaderNames.contentType, HeaderNames.json)
        let response = try await send(request)
        guard let granted = response.headers[HeaderNames.capabilities], Capability.parse(granted).contains(.publicChanges) else {
            // A server that is busy, or to which nobody comes through, says nothing of what it offers.
            if Self.refusals.contains(response.status) { return nil }
            throw 200..<300 ~= response.status
                ? CKError.unreadable("the server's answer does not say that it is a feed", response) : CKError(response)
        }
        let answer: ZoneChangesResponse = try read(response)
        guard let result = answer.zones.first, answer.zones.count == 1 else {
            throw CKError.unreadable("the server's answer leaves out what was asked for", response)
        }
        return result
    }
}
