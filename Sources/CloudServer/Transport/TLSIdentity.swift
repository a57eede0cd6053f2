// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
package import Logging
import NIOCore
import NIOSSL
import Synchronization
import SystemSupport

/// The server's certificate chain and private key, reloaded when their files change.
///
/// New handshakes use the pair that was loaded last; established connections keep theirs. While the files don't match, such as
/// during a renewal that has replaced the certificate but not the key, the previous pair stays in force.
package final class TLSIdentity: Sendable {
    /// TLS 1.2 suites with forward secrecy and authenticated encryption. TLS 1.3 has no others.
    ///
    /// Source: RFC 9325, sections 3.1.1 and 4.2.
    private static let cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:!eNULL"
    /// Interval at which the files are checked.
    private static let reloadInterval = Duration.seconds(10)

    private struct Pair {
        var certificates: [NIOSSLCertificate]
        var key: NIOSSLPrivateKey
        var files: FileVersions
    }

    /// Modification times and sizes of both files; nil for a file that is missing.
    private struct FileVersions: Equatable {
        var certificate: FileStamp?
        var key: FileStamp?
    }

    private let certificatePath: String
    private let keyPath: String
    private let pair: Mutex<Pair>

    /// Loads both files.
    ///
    /// - Throws: `StorageFailure` with `.unavailable` if a file cannot be read, is not PEM, or the key is not the certificate's.
    package init(certificatePath: String, keyPath: String) throws {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        pair = Mutex(try Self.load(certificatePath, keyPath))
    }

    private static func load(_ certificatePath: String, _ keyPath: String) throws -> Pair {
        let files = versions(certificatePath, keyPath)
        do {
            let pair = Pair(
                certificates: try NIOSSLCertificate.fromPEMFile(certificatePath),
                key: try NIOSSLPrivateKey(file: keyPath, format: .pem), files: files)
            // Only a context compares the key with the certificate.
            _ = try NIOSSLContext(configuration: configuration(pair))
            return pair
        } catch {
            throw StorageFailure(.unavailable, "the certificate or its key cannot be used")
        }
    }

    private static func versions(_ certificatePath: String, _ keyPath: String) -> FileVersions {
        FileVersions(certificate: FileStamp(path: certificatePath), key: FileStamp(path: keyPath))
    }

    private static func configuration(_ pair: Pair) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: pair.certificates.map { .certificate($0) }, privateKey: .privateKey(pair.key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuites = cipherSuites
        return configuration
    }

    /// Settings of the listening socket: TLS 1.2 and later, and for each handshake the pair loaded last.
    var configuration: TLSConfiguration {
        var configuration = Self.configuration(pair.withLock { $0 })
        configuration.sslContextCallback = { [self] _, promise in
            let pair = pair.withLock { $0 }
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = pair.certificates.map { .certificate($0) }
            override.privateKey = .privateKey(pair.key)
            promise.succeed(override)
        }
        return configuration
    }

    /// Loads the files again if one of them changed since they were loaded.
    ///
    /// - Returns: `true` if a new pair is in force.
    /// - Throws: `StorageFailure` with `.unavailable` if the changed files cannot be used; the previous pair stays in force.
    @discardableResult
    package func reloadIfChanged() throws -> Bool {
        let loadedVersions = pair.withLock { $0.files }
        guard Self.versions(certificatePath, keyPath) != loadedVersions else { return false }
        let loaded = try Self.load(certificatePath, keyPath)
        pair.withLock { $0 = loaded }
        return true
    }

    /// Reloads changed files until the task is cancelled.
    package func followFiles(logger: Logger) async {
        var hasFailed = false
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.reloadInterval)
            do {
                if try reloadIfChanged() { logger.notice("TLS certificate reloaded") }
                hasFailed = false
            } catch {
                // Logs once per series of failures.
                if !hasFailed { logger.error("changed TLS certificate or key cannot be used; the previous pair stays in force") }
                hasFailed = true
            }
        }
    }
}
