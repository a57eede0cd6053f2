// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire

/// Addresses that commands use, too.
package enum PageAddress {
    /// Requests of the protocol as the operator.
    package static let api = "/console/api"
    /// Operations of an operator, by name.
    package static let operations = api + "/operator/"
}

/// Keys with which the commands of another machine administer a server.
///
/// A key is the token of a session that was begun at the server's data folder instead of with a password. It is for requests of the
/// protocol and for ``OperatorRequests``, expires after two weeks, is listed by `tarn user sessions`, and is ended by `tarn user sign-out`,
/// by a new password and with the account's operator flag. It opens no page, not in a cookie either.
package enum OperatorKeys {
    /// The key in a request, for requests of the protocol only: pages are for browsers.
    static func key(of request: ServiceRequest) -> String? {
        guard PageRequests.isOne(request), request.cookie(ConsolePages.cookie) == nil,
            let header = request.header(HeaderNames.authorization)
        else { return nil }
        return HeaderNames.token(inAuthorization: header)
    }
}
