// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CloudDatabaseClient {
    /// The slowest connection on which a part of a snapshot arrives, in bytes per second.
    private static let snapshotBytesPerSecondMin = 32_768

    /// Reads bytes of a snapshot, in one request.
    ///
    /// - Returns: At least one byte, and at most `count`; nil if the server does not have the snapshot, or does not have it for this
    ///   client.
    package func snapshotBytes(_ identifier: String, from offset: Int64, atMost count: Int) async throws(CKError) -> [UInt8]? {
        var request = TransportRequest(
            method: ServicePath.Operation.zoneSnapshot.method,
            target: .service(path: "\(path(.zoneSnapshot, in: scope))?id=\(identifier)"), headers: headers(asking: [.snapshots]),
            responseBytesMax: count)
        request.headers.add(HeaderNames.range, "bytes=\(offset)-\(offset + Int64(count) - 1)")
        let asked = request
        // The time of the whole request: a server that sends a byte now and then must not hold the import for ever.
        let limit: Duration? = transport.needsIdleTimeout ? .seconds(30 + count / Self.snapshotBytesPerSecondMin) : nil
        let slow = CKError(.networkFailure, "the snapshot of a zone timed out; fetch the changes again")
        do {
            return try await withIdleTimeout(within: limit, by: ContinuousClock(), orThrow: slow) { _ in
                let stream = try await transport.stream(asked)
                // A proxy that ignores ranges sends the whole: what exceeds the range is not read.
                let isContent = stream.status == 206 || stream.status == 200 && offset == 0
                var body: [UInt8] = []
                for try await chunk in stream.chunks {
                    guard body.count < count else { break }
                    body += chunk.prefix(count - body.count)
                }
                if isContent { return body.isEmpty ? nil : body }
                let response = TransportResponse(status: stream.status, headers: stream.headers, body: body)
                guard [200, 400, 416].contains(stream.status) || HTTPStatus.isMissing(stream.status) else { throw CKError(response) }
                // A missing zone is no missing snapshot.
                if let error = try? WireError(json: response.body), error.code == .zoneNotFound { throw CKError(response) }
                return nil
            }
        } catch {
            throw CKError(transportFailure: error)
        }
    }
}
