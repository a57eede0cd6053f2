// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension CKContainer {
    /// The server and the account of a container.
    ///
    /// Differs: Apple's framework has one server and takes the account from the system. Here both come from code, else
    /// from the environment (`TARN_SERVER`, `TARN_TOKEN`, `TARN_ENVIRONMENT`, `TARN_CA_CERTIFICATE`), else from a file
    /// `tarn.json` next to the executable or in the user's configuration folder.
    public struct Configuration: Hashable, Sendable {
        /// The secret of this device and its user. Descriptions do not show it.
        public struct Token: Hashable, Sendable, ExpressibleByStringLiteral {
            let text: String

            /// Creates a token from the text that `tarn user add` printed.
            public init(_ text: String) { self.text = text }
            /// Creates a token from a literal. Keep tokens of real users out of source code.
            public init(stringLiteral value: String) { self.init(value) }
        }

        /// The two environments of a container. Each has its own data and schema.
        public enum Environment: String, Hashable, Sendable, CaseIterable { case development, production }

        /// The address, such as `https://cloud.example.org`.
        public var server: String
        /// The token that `tarn user add` printed. `nil` if no user is signed in.
        public var token: Token?
        /// The environment; `.production` where nothing else is set.
        public var environment: Environment
        /// A PEM file with certificates of the operator's own authorities, trusted for this server in addition to the
        /// system's. `nil` trusts the system's only. If the file is missing or has no certificate, the first use throws
        /// `.badContainer`.
        public var caCertificate: URL?
        /// The credentials of CloudKit web services, for a container in iCloud. ``token`` isn't used then. `nil` for a Tarn server.
        public var webServices: WebServices?

        /// Creates a configuration.
        public init(
            server: String, token: Token?, environment: Environment = .development, caCertificate: URL? = nil
        ) {
            self.server = server
            self.token = token
            self.environment = environment
            self.caCertificate = caCertificate
        }
    }
}

extension CKContainer.Configuration.Token: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A placeholder, so that logs do not show the token.
    public var description: String { "•••" }
    /// A placeholder, so that logs do not show the token.
    public var debugDescription: String { "•••" }
    /// An empty mirror, so that `dump` does not show the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
