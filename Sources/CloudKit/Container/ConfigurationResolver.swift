// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// All sources of a container's configuration, as values.
package struct ConfigurationSources: Sendable {
    package struct File: Sendable {
        package var path: String
        /// `nil` if the file exists and cannot be read.
        package var content: [UInt8]?

        package init(path: String, content: [UInt8]?) {
            self.path = path
            self.content = content
        }
    }

    /// Set in code for one container, or for all of them.
    package var code: CKContainer.Configuration?
    package var environment: [String: String]
    /// The files that exist, in order of precedence.
    package var files: [File]
    /// The paths that were searched, for the error message.
    package var searchedPaths: [String]

    package init(
        code: CKContainer.Configuration? = nil, environment: [String: String] = [:], files: [File] = [],
        searchedPaths: [String] = []
    ) {
        self.code = code
        self.environment = environment
        self.files = files
        self.searchedPaths = searchedPaths
    }
}

/// The validated server and credentials of one container.
package struct ResolvedConfiguration: Hashable, Sendable {
    package var server: ServerAddress
    package var token: CKContainer.Configuration.Token?
    package var environment: CloudEnvironment
    /// Path of a PEM file with authorities that are trusted in addition to the system's.
    package var caCertificate: String?
    /// The credentials of iCloud. `nil` for a Tarn server.
    package var webServices: CKContainer.Configuration.WebServices?

    /// The token, for requests that need one.
    package func signedIn() throws(CKError) -> CKContainer.Configuration.Token {
        guard let token else {
            throw CKError(
                .notAuthenticated,
                """
                no account is signed in to \(server): run `tarn user add NAME` at the server and set TARN_TOKEN to the \
                token it prints, or write it to tarn.json
                """)
        }
        return token
    }
}

/// Resolves the configuration from all sources. Code takes precedence over the environment, and the environment over
/// files; the first file counts.
///
/// The source that names the server also gives the token and the trusted authorities, except that `TARN_TOKEN` and
/// `TARN_CA_CERTIFICATE` override a file's. So a token written for one server is never sent to another.
package enum ConfigurationResolver {
    /// - Throws: ``CKError`` with `.badContainer` and the setting to change.
    package static func resolve(
        container identifier: String, _ sources: ConfigurationSources
    ) throws(CKError) -> ResolvedConfiguration {
        guard PathSegments.isContainerIdentifier(identifier) else {
            throw CKError(
                .badContainer,
                """
                a container identifier holds letters, digits, dots, dashes and underscores only, such as \
                iCloud.org.example.notes
                """)
        }
        if let code = sources.code {
            var resolved = try check(
                server: code.server, token: code.webServices == nil ? code.token : nil, environment: code.environment.rawValue,
                caCertificate: code.caCertificate?.path, from: "the configuration set in code")
            if let webServices = code.webServices { resolved.webServices = try check(webServices, resolved.server) }
            return resolved
        }
        let token = sources.environment["TARN_TOKEN"].map { CKContainer.Configuration.Token($0) }
        let environment = sources.environment["TARN_ENVIRONMENT"]
        let authority = sources.environment["TARN_CA_CERTIFICATE"].flatMap { $0.isEmpty ? nil : $0 }
        if let server = sources.environment["TARN_SERVER"] {
            return try check(
                server: server, token: token, environment: environment, caCertificate: authority, from: "TARN_SERVER")
        }
        if let file = sources.files.first {
            let entry = try read(file).entry(for: identifier)
            guard let server = entry.server else {
                throw CKError(
                    .badContainer,
                    #"\#(file.path) names no server: add "server": "http://localhost:8080" with the address of yours"#)
            }
            return try check(
                server: server, token: token ?? entry.token, environment: environment ?? entry.environment,
                caCertificate: authority ?? entry.caCertificate.map { path($0, beside: file.path) }, from: file.path)
        }
        throw CKError(
            .badContainer,
            """
            no server is configured for \(identifier): set TARN_SERVER and TARN_TOKEN, or write a tarn.json (looked \
            for at \(sources.searchedPaths.joined(separator: ", "))), or call CKContainer.configure
            """)
    }

    private static func check(
        _ webServices: CKContainer.Configuration.WebServices, _ server: ServerAddress
    ) throws(CKError) -> CKContainer.Configuration.WebServices {
        guard WebAuthTokenStore.isToken(webServices.apiToken.text) else {
            throw CKError(.badContainer, "the API token is empty or has invalid characters: copy it again from the CloudKit Console")
        }
        guard !server.isUnencryptedRemote else {
            throw CKError(.badContainer, "tokens of iCloud are sent with encryption only: use an address that begins with https://")
        }
        return webServices
    }

    private static func read(_ file: ConfigurationSources.File) throws(CKError) -> ConfigurationFile {
        guard let content = file.content else {
            throw CKError(.badContainer, "\(file.path) cannot be read: check its permissions")
        }
        do {
            return try ConfigurationFile(json: content)
        } catch {
            throw CKError(.badContainer, "\(file.path) is invalid: \(error.reason)")
        }
    }

    /// A relative path in a file is relative to the file's folder, independent of the working directory.
    private static func path(_ path: String, beside file: String) -> String {
        if path.hasPrefix("/") { return path }
        let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return (folder + [path[...]]).joined(separator: "/")
    }

    private static func check(
        server: String, token: CKContainer.Configuration.Token?, environment: String?, caCertificate: String?,
        from source: String
    ) throws(CKError) -> ResolvedConfiguration {
        guard let address = ServerAddress(server) else {
            throw CKError(
                .badContainer,
                """
                the server address in \(source) is not valid: it should look like http://localhost:8080 or \
                https://cloud.example.org
                """)
        }
        guard let environment = CloudEnvironment(rawValue: environment ?? CloudEnvironment.development.rawValue) else {
            throw CKError(
                .badContainer,
                "the environment is neither development nor production: check TARN_ENVIRONMENT and \(source)")
        }
        let trimmed = token.map { $0.text.drop(while: \.isWhitespace) }
            .map { String($0.reversed().drop(while: \.isWhitespace).reversed()) }
        if let trimmed, !trimmed.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            throw CKError(
                .notAuthenticated,
                "the token has invalid characters: copy it again as `tarn user add` printed it")
        }
        let isEmpty = trimmed?.isEmpty ?? true
        return ResolvedConfiguration(
            server: address, token: isEmpty ? nil : trimmed.map { CKContainer.Configuration.Token($0) },
            environment: environment, caCertificate: caCertificate)
    }
}
