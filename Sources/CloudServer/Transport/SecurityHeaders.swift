// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Hummingbird

/// Headers of every answer, whoever made it, that keep browsers from treating it as something else.
enum SecurityHeaders {
    private static let values: [(name: HTTPField.Name?, value: String)] = [
        (.init("X-Content-Type-Options"), "nosniff"),
        (.init("Referrer-Policy"), "same-origin"),
        (.init("Cross-Origin-Opener-Policy"), "same-origin"),
        (.init("Permissions-Policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        // Pages set a policy of their own. Anything else, such as an asset that is an HTML file, runs nothing.
        (.init("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ]
    private static let resourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy")
    private static let strictTransport = HTTPField.Name("Strict-Transport-Security")
    private static let disposition = HTTPField.Name("Content-Disposition")

    /// Adds the headers that an answer lacks.
    ///
    /// - Parameter isSecure: The request came over TLS.
    static func add(to headers: inout HTTPFields, isSecure: Bool) {
        for (name, value) in values {
            if let name, headers[name] == nil { headers[name] = value }
        }
        if let resourcePolicy, headers[resourcePolicy] == nil {
            // Requests with CORS are not concerned; pages of other origins include `cloudkit.js` without.
            headers[resourcePolicy] = headers[.accessControlAllowOrigin] == nil ? "same-origin" : "cross-origin"
        }
        if isSecure, let strictTransport { headers[strictTransport] = "max-age=31536000" }
    }

    /// Adds the headers of an asset: pages of other origins may embed it; a browser that opens it saves it.
    static func addToFile(_ headers: inout HTTPFields) {
        if let resourcePolicy { headers[resourcePolicy] = "cross-origin" }
        if let disposition, headers[disposition] == nil { headers[disposition] = "attachment" }
    }
}
