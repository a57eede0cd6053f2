// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudServer
import CloudService
import CloudStorageSupport
import Foundation

/// The S3-compatible store of assets, as set by `assets` and `assets-…`.
struct AssetSettings: Hashable {
    var location: String?
    var endpoint: String?
    var region: String?
    var keyFile: String?

    private static let keyBytesMax = 4096
    private static let keyIDVariable = "AWS_ACCESS_KEY_ID"
    private static let secretVariable = "AWS_SECRET_ACCESS_KEY"

    init() {}

    /// The settings of a command, from the environment alone.
    init(environment: [String: String]) throws {
        for setting in ServerSettings.all where setting.name.hasPrefix("assets") {
            if let value = environment[setting.variable] { _ = try set(setting.name, to: value) }
        }
    }

    /// - Returns: `false` for a setting of another name.
    mutating func set(_ name: String, to value: String) throws -> Bool {
        switch name {
        case "assets":
            guard S3Location(value, endpoint: "https://localhost") != nil else {
                throw CommandError(
                    "assets is s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits and . _ -; \(value) is not.")
            }
            location = value
        case "assets-endpoint":
            guard S3Location("s3://bucket", endpoint: value) != nil else {
                throw CommandError(
                    "assets-endpoint is https:// or http://, a host and, if needed, a port, without a path; \(value) is not.")
            }
            endpoint = value
        case "assets-region":
            guard (1...64).contains(value.utf8.count), value.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }) else {
                throw CommandError("assets-region is a name such as eu-central-1; \(value) is not.")
            }
            region = value
        case "assets-key-file": keyFile = value
        default: return false
        }
        return true
    }

    /// The store; nil if assets are in the data folder.
    ///
    /// - Throws: `CommandError` for inconsistent settings, and without a key.
    func objects(environment: [String: String]) throws -> S3Assets? {
        guard let location else {
            guard endpoint == nil, region == nil, keyFile == nil else {
                throw CommandError("--assets-endpoint, --assets-region and --assets-key-file need --assets with the bucket.")
            }
            return nil
        }
        let region = region ?? "us-east-1"
        guard let place = S3Location(location, endpoint: endpoint ?? "https://s3.\(region).amazonaws.com") else {
            throw CommandError("--assets and --assets-endpoint do not name a bucket.")
        }
        let signature = S3Signature(key: try key(environment), region: region)
        return S3Assets(
            client: S3Client(
                location: place, signature: signature, now: CloudService.Surroundings.system.now, transport: S3HTTPClient.send))
    }

    private func key(_ environment: [String: String]) throws -> S3Key {
        if let keyFile {
            guard let data = FileManager.default.contents(atPath: keyFile), data.count <= Self.keyBytesMax,
                let lines = String(bytes: data, encoding: .utf8)?.split(whereSeparator: \.isNewline)
                    .map({ $0.trimmingCharacters(in: .whitespaces) }).filter({ !$0.isEmpty }),
                lines.count == 2
            else { throw CommandError("The file \(keyFile) of --assets-key-file has two lines: the ID of the access key, and its secret.") }
            return S3Key(id: lines[0], secret: lines[1])
        }
        guard let id = environment[Self.keyIDVariable], let secret = environment[Self.secretVariable], !id.isEmpty, !secret.isEmpty else {
            throw CommandError(
                "The store of --assets needs an access key: set \(Self.keyIDVariable) and \(Self.secretVariable), or name a file with --assets-key-file."
            )
        }
        return S3Key(id: id, secret: secret)
    }
}

extension CommandError {
    /// A store of assets that cannot be used at the start.
    init(_ failure: S3Failure, _ location: S3Location) {
        let store = "The store of assets \(location.shown) could not be used"
        switch failure {
        case .unreachable:
            self.init("\(store) (\(failure.cause)): check --assets-endpoint, its certificate and the network.")
        case .rejected(_, "NoSuchBucket"):
            self.init("The store of assets has no bucket \(location.bucket) at \(location.base): make it, or name another with --assets.")
        case .rejected(_, "RequestTimeTooSkewed"):
            self.init("\(store): its clock differs from this machine's by more than 15 minutes. Set this machine's clock.")
        case .rejected(401, _), .rejected(403, _):
            self.init(
                "\(store) (\(failure.cause)): check the access key, --assets-region, and that the key may read, write, delete and list objects there."
            )
        case .foreignOwner:
            self.init(
                "\(store): its prefix is not this database's. Name the prefix that it had before with --assets, or a new one such as s3://\(location.bucket)/another."
            )
        case .rejected, .unreadable, .damaged:
            self.init("\(store) (\(failure.cause)): check that --assets-endpoint is the address of an S3-compatible store.")
        }
    }
}
