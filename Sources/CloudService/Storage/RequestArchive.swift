// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The requests that failed or were slow, kept after the server ends.
package protocol RequestArchive: Sendable {
    /// Stores a request if it failed or was slow. It is bounded in bytes and in requests a minute, and never throws: a request that cannot be
    /// stored is in the server's log.
    func add(_ note: RequestNote)

    /// The stored requests, the newest first.
    ///
    /// - Parameters:
    ///   - text: Text that a request's container, endpoint, error, status or UUID contains; empty for all.
    ///   - request: UUID of the request that the page before ended with; nil for the newest.
    ///   - limit: Requests at most.
    func notes(matching text: String, before request: String?, limit: Int) async throws -> [RequestNote]
}

extension RequestNote {
    /// Milliseconds from which on a request is slow.
    package static let slowMilliseconds = 1000.0

    package var isArchived: Bool { status >= 400 || milliseconds >= Self.slowMilliseconds }
}
