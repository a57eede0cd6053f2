// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Hummingbird

/// Security headers of every response, which keep browsers from sniffing, embedding or executing it.
enum SecurityHeaders {
    private static let fields: [HTTPFields.Element] = [
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        // Pages set a policy of their own. Anything else, such as an asset that is an HTML file, runs nothing.
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ].compactMap { name, value in HTTPFields.Element.Name(name).map { HTTPFields.Element(name: $0, value: value) } }
    /// Headers that ``add(to:isSecure:)`` adds at most.
    static let countMax = fields.count + 2
    private static let resourcePolicy = HTTPFields.Element.Name("Cross-Origin-Resource-Policy")
    private static let strictTransport = HTTPFields.Element.Name("Strict-Transport-Security")
    private static let disposition = HTTPFields.Element.Name("Content-Disposition")

    /// Adds the headers that a response lacks.
    ///
    /// - Parameter isSecure: The request came over TLS.
    static func add(to headers: inout HTTPFields, isSecure: Bool) {
        let present = headers.map(\.name)
        for field in fields where !present.contains(field.name) { headers.append(field) }
        if let resourcePolicy, !present.contains(resourcePolicy) {
            // The policy doesn't concern CORS requests. Pages of other origins load `cloudkit.js` without CORS.
            let value = present.contains(.accessControlAllowOrigin) ? "cross-origin" : "same-origin"
            headers.append(HTTPFields.Element(name: resourcePolicy, value: value))
        }
        if isSecure, let strictTransport { headers[strictTransport] = "max-age=31536000" }
    }

    /// Adds the headers of an asset: pages of other origins may embed it; a browser that opens it saves it.
    static func addToFile(_ headers: inout HTTPFields) {
        if let resourcePolicy { headers[resourcePolicy] = "cross-origin" }
        if let disposition, headers[disposition] == nil { headers[disposition] = "attachment" }
    }
}
