// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKContainer.Configuration {
    /// The address of iCloud's CloudKit web services.
    ///
    /// Source: *CloudKit Web Services Reference*, "The Web Service URL".
    public static let iCloudServer = "https://api.apple-cloudkit.com"

    /// The credentials of CloudKit web services.
    public struct WebServices: Hashable, Sendable {
        /// The API token of the container and environment, from the CloudKit Console.
        public var apiToken: Token
        /// The file with the signed-in user's web auth token. The client replaces it with each response. It is readable by its owner
        /// only, and used by one process at a time.
        public var sessionFile: URL

        /// Creates credentials.
        public init(apiToken: Token, sessionFile: URL) {
            self.apiToken = apiToken
            self.sessionFile = sessionFile
        }
    }

    /// A configuration for a container in iCloud, by Apple's documented web services.
    ///
    /// The client assumes nothing beyond Apple's documents: it sends no header and no member of Tarn's protocol, keeps to the documented
    /// limits, sends the requests of a user one at a time, and polls for notifications. Let the user sign in with
    /// ``CKContainer/signInURL()`` and ``CKContainer/signIn(webAuthToken:)``.
    ///
    /// Differs: Apple's framework takes the account from the system.
    ///
    /// - Parameters:
    ///   - apiToken: The API token of the container and environment, from the CloudKit Console.
    ///   - sessionFile: The file that has, or gets, the user's web auth token.
    ///   - environment: The environment that the API token was made for.
    ///   - server: Another address, such as that of `tarn serve --profile apple` in tests.
    public static func iCloud(
        apiToken: Token, sessionFile: URL, environment: Environment = .development, server: String = iCloudServer
    ) -> CKContainer.Configuration {
        var configuration = Self(server: server, token: nil, environment: environment)
        configuration.webServices = WebServices(apiToken: apiToken, sessionFile: sessionFile)
        return configuration
    }
}

extension CKContainer {
    private func webServices() throws(CKError) -> WebServicesTransport {
        let connection = try connection()
        guard let webServices = connection.webServices else {
            if case .failure(let error) = connection.transport { throw error }
            throw CKError(.badContainer, "the container is not configured for iCloud: use CKContainer.Configuration.iCloud")
        }
        return webServices
    }

    /// Whether a user is signed in to iCloud. The server decides with each request whether the session is still valid.
    ///
    /// - Throws: ``CKError`` with `.badContainer` if the container is not configured for iCloud.
    public var isSignedIn: Bool {
        get throws { try webServices().tokens.session != nil }
    }

    /// Fetches the address of the page on which the user signs in to iCloud. Open it in a browser. The page returns a web auth token, in
    /// the query of the API token's callback address or in a message to the window that opened it: pass it to
    /// ``signIn(webAuthToken:)``.
    ///
    /// Source: *CloudKit Web Services Reference*, "Getting a Web Authentication Token": the `redirectURL` of the error
    /// `AUTHENTICATION_REQUIRED`.
    ///
    /// - Throws: ``CKError`` with `.badContainer` if the container is not configured for iCloud, `.notAuthenticated` for an invalid API
    ///   token, or if the server could not be reached.
    public func signInURL() async throws -> URL {
        try await webServices().signInURL(container: containerIdentifier ?? "", environment: try connection().environment)
    }

    /// Stores the web auth token of a sign-in, and posts `.CKAccountChanged`. Mirrored stores then sync with the account.
    ///
    /// - Parameter webAuthToken: The token that the sign-in page returned.
    /// - Throws: ``CKError`` with `.invalidArguments` for a text that isn't a token, `.badContainer` if the container is not configured
    ///   for iCloud, `.internalError` if the session file cannot be written.
    public func signIn(webAuthToken: String) throws {
        try webServices().tokens.signIn(webAuthToken)
        accountChanged()
    }

    /// Forgets the web auth token of this client, and posts `.CKAccountChanged`. The session at the server ends when its time is over.
    ///
    /// - Throws: ``CKError`` with `.badContainer` if the container is not configured for iCloud, `.internalError` if the session file
    ///   cannot be written.
    public func signOut() throws {
        try webServices().tokens.signOut()
        accountChanged()
    }

    /// The web auth token in the callback address to which the sign-in page sent the browser. `nil` if it has none.
    ///
    /// Source: *CloudKit Web Services Reference*: the item `ckWebAuthToken` of the query. Public reports also have `ckSession`, and the
    /// fragment.
    public static func webAuthToken(inCallback url: URL) -> String? {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return nil }
        var fragment = URLComponents()
        fragment.percentEncodedQuery = parts.percentEncodedFragment
        let items = (parts.queryItems ?? []) + (fragment.queryItems ?? [])
        let value = items.first { ["ckWebAuthToken", "ckSession"].contains($0.name) && $0.value?.isEmpty == false }?.value
        // Tokens have signs of Base64: an unencoded plus isn't a space.
        return value.map { $0.replacing(" ", with: "+") }
    }

    private func accountChanged() {
        if let containerIdentifier { ConfigurationRegistry.shared.reconnect(containerIdentifier) }
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
    }
}
