// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The addresses of sign-in pages.
package struct SignInFlows: ServiceSubject {
    let core: ServiceCore

    /// The flow of a sign-in page's address, or nil if the address was forged or has expired.
    package func flow(_ text: String) -> SignInFlow? {
        SignInFlow(opening: text, now: surroundings.now(), by: engine.sealer)
    }

    /// The API token of a flow; nil if there was none.
    ///
    /// - Throws: `WireError` with `.accessDenied` if it was removed or has expired.
    package func apiToken(of flow: SignInFlow) async throws -> APIToken? {
        guard flow.apiToken != 0 else { return nil }
        guard let token = try await accounts.apiToken(id: flow.apiToken), !Credentials.isExpired(token.expires, at: surroundings.now())
        else {
            throw WireError(.accessDenied, "The API token of the app was removed or has expired. Ask the app's developer for a new one.")
        }
        return token
    }

    /// Address of the page on which a caller with an API token signs in.
    ///
    /// - Returns: Nil for a request with an `Origin` that isn't a web page's, such as `null` or `*`: any page could get its token.
    private func address(_ request: ServiceRequest, _ apiToken: APIToken) -> String? {
        let origin = request.header("origin") ?? ""
        guard origin.isEmpty || Self.isOrigin(origin) else { return nil }
        let flow = SignInFlow(
            containerIdentifier: apiToken.containerIdentifier, environment: apiToken.environment, apiToken: apiToken.id,
            origin: origin,
            expires: surroundings.now() / 1000 + Int64(engine.limits.signInSeconds))
        return "\(request.baseURL)/signin?flow=\(flow.sealed(by: engine.sealer))"
    }

    /// Source: RFC 6454, section 6.2: scheme, host and port, without a path.
    private static func isOrigin(_ text: String) -> Bool {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "https" || parts[0] == "http", (1...255).contains(parts[1].utf8.count) else { return false }
        return parts[1].utf8.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x41...0x5B).contains(byte) || (0x61...0x7A).contains(byte)
                || [0x2D, 0x2E, 0x5D, 0x5F].contains(byte)
        }
    }

    /// Adds the address of the sign-in page, if the error asks for a user.
    func withSignIn(_ error: WireError, _ request: ServiceRequest, _ apiToken: APIToken?) -> WireError {
        guard error.code == .authenticationRequired, let apiToken else { return error }
        var error = error
        error.redirectURL = address(request, apiToken)
        return error
    }
}
