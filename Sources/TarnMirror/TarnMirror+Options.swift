// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension TarnMirror {
    /// The server, the account and the delays of a mirror.
    public struct Options: Sendable {
        /// The environment of a container on the server.
        public enum Environment: Hashable, Sendable {
            /// The schema grows with the records that devices send.
            case development
            /// The schema is fixed.
            case production
        }

        /// The identifier of the container on the server, such as `iCloud.org.example.notes`.
        public var containerIdentifier: String
        /// The address of the server: `https://…`, or `http://` on this machine.
        public var server: String
        /// The device's token, which the app keeps in the keychain.
        public var token: String
        /// The environment of the container.
        public var environment = Environment.production
        /// Identifies this device to the server where several devices share one token: up to 128 printable ASCII characters.
        public var deviceIdentifier: String?
        /// The time between two imports without a request of the app: the server's push stream is not used.
        public var pollInterval = Duration.seconds(60)
        /// The longest time without a byte of a response.
        public var idleTimeout = Duration.seconds(30)
        /// The longest time of a request, from its first byte until the last byte of its response: it ends long uploads and downloads, too.
        public var requestTimeout = Duration.seconds(120)
        /// The file of the sync metadata; nil for one next to the store, with `.tarn-mirror` behind its name.
        public var metadataURL: URL?

        /// Creates options with the default delays, for production.
        public init(containerIdentifier: String, server: String, token: String) {
            self.containerIdentifier = containerIdentifier
            self.server = server
            self.token = token
        }
    }
}

extension TarnMirror.Options {
    /// - Throws: ``TarnMirror/Failure`` with `.invalidOptions` for identifiers that a server rejects.
    func check() throws {
        guard PathSegments.isContainerIdentifier(containerIdentifier) else {
            throw TarnMirror.Failure(
                .invalidOptions,
                "the container identifier is empty or has characters that it must not have; use a form such as iCloud.org.example.notes")
        }
        guard let deviceIdentifier else { return }
        guard 1...128 ~= deviceIdentifier.utf8.count, deviceIdentifier.utf8.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            throw TarnMirror.Failure(.invalidOptions, "the device identifier must have 1 to 128 printable ASCII characters")
        }
    }
}

extension TarnMirror.Options: CustomReflectable {
    /// Without the token.
    public var customMirror: Mirror { Mirror(self, children: ["containerIdentifier": containerIdentifier, "server": server]) }
}

extension TarnMirror.Options: CustomStringConvertible {
    /// Without the token.
    public var description: String { "\(containerIdentifier) at \(server)" }
}

extension TarnMirror.Options.Environment {
    var wire: CloudEnvironment {
        switch self {
        case .development: .development
        case .production: .production
        }
    }
}
