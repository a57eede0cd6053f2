// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Meanings of statuses of HTTP responses.
package enum HTTPStatus {
    /// Whether a gateway sends the status for a server that did not respond, or not in time: that may have executed the request. The body of
    /// such a response has no reason, as each error of a server with CloudKit's protocol has.
    ///
    /// Source: RFC 9110, sections 15.6.3 and 15.6.5.
    package static func isOfGateway(_ status: Int) -> Bool { status == 502 || status == 504 }

    /// Whether a server says that it has nothing at the address.
    ///
    /// Source: RFC 9110, sections 15.5.5 and 15.5.11.
    package static func isMissing(_ status: Int) -> Bool { status == 404 || status == 410 }
}
