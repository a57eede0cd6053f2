// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension CKContainer {
    /// Where a container's server is, and who is signed in there.
    ///
    /// Differs: Apple's framework has one server and takes the account from the system. Here both come from code, else
    /// from the environment (`TARN_SERVER`, `TARN_TOKEN`, `TARN_ENVIRONMENT`, `TARN_CA_CERTIFICATE`), else from a file
    /// `tarn.json` beside the executable or in the user's configuration folder.
    public struct Configuration: Hashable, Sendable {
        /// The secret of this device and its user. It never appears in a description.
        public struct Token: Hashable, Sendable, ExpressibleByStringLiteral {
            let text: String

            public init(_ text: String) { self.text = text }
            public init(stringLiteral value: String) { self.init(value) }
        }

        /// Two separate worlds of data with a schema each.
        public enum Environment: String, Hashable, Sendable, CaseIterable { case development, production }

        /// Such as `https://cloud.example.org`.
        public var server: String
        /// Printed by `tarn user add`; nil if nobody is signed in.
        public var token: Token?
        public var environment: Environment
        /// A PEM file with certificates of authorities that are trusted for this server, beside those of the system: the
        /// operator's own. Nil trusts those of the system only. A file that is not there, or holds no certificate, is
        /// `.badContainer` on first use.
        public var caCertificate: URL?

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
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
