// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import SystemSupport

/// The access key of an S3-compatible store. Its descriptions lack the secret.
package struct S3Key: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let id: String
    fileprivate let secret: String

    package init(id: String, secret: String) {
        self.id = id
        self.secret = secret
    }

    package var description: String { "•••" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// AWS Signature Version 4 of requests to S3, in the `Authorization` header. A pure function of its arguments.
///
/// The signature covers the SHA-256 of the body: `UNSIGNED-PAYLOAD` is never used, so that the store rejects a body that changed on its
/// way, also over plain HTTP.
///
/// Source: *Amazon S3 API Reference*, "Signature Calculations for the Authorization Header".
package struct S3Signature: Hashable, Sendable {
    /// The signed parts of a request.
    package struct Message: Hashable, Sendable {
        package var method: String
        /// Value of the `Host` header.
        package var host: String
        /// Unencoded, with the leading slash.
        package var path: String
        /// Unencoded.
        package var query: [Parameter]
        /// Signed besides `host`, `x-amz-content-sha256` and `x-amz-date`.
        package var headers: [Parameter]
        /// Lower-case hexadecimal SHA-256 of the body.
        package var bodySHA256: String

        package init(
            method: String, host: String, path: String, query: [Parameter] = [], headers: [Parameter] = [],
            bodySHA256: String = S3Signature.emptySHA256
        ) {
            self.method = method
            self.host = host
            self.path = path
            self.query = query
            self.headers = headers
            self.bodySHA256 = bodySHA256
        }

        /// The query of the URL, in the order of the canonical request.
        package var encodedQuery: String {
            query.map { (S3Signature.encoded($0.name), S3Signature.encoded($0.value)) }.sorted(by: <).map { "\($0)=\($1)" }
                .joined(separator: "&")
        }

        package var encodedPath: String { S3Signature.encoded(path, keepsSlashes: true) }
    }

    package struct Parameter: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// SHA-256 of no bytes.
    package static let emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    private static let algorithm = "AWS4-HMAC-SHA256"

    package let key: S3Key
    package let region: String

    package init(key: S3Key, region: String) {
        self.key = key
        self.region = region
    }

    /// The headers that sign a message, its own included.
    ///
    /// - Parameter seconds: Seconds since 1970 UTC. Stores reject a time that differs by more than 15 minutes from their own.
    package func headers(of message: Message, at seconds: Int64) -> [Parameter] {
        let time = Self.stamp(seconds)
        let signed =
            message.headers + [
                Parameter("Host", message.host), Parameter("X-Amz-Content-SHA256", message.bodySHA256), Parameter("X-Amz-Date", time),
            ]
        let lines = signed.map { (name: $0.name.lowercased(), value: $0.value) }.sorted { $0.name < $1.name }
        let names = lines.map(\.name).joined(separator: ";")
        let canonical = [
            message.method, message.encodedPath, message.encodedQuery, lines.map { "\($0.name):\($0.value)\n" }.joined(), names,
            message.bodySHA256,
        ].joined(separator: "\n")
        let date = String(time.prefix(8))
        let scope = [date, region, "s3", "aws4_request"]
        let text = [Self.algorithm, time, scope.joined(separator: "/"), Hex.text(SHA256.hash(data: Data(canonical.utf8)))]
            .joined(separator: "\n")
        let signingKey = scope.reduce(SymmetricKey(data: Data("AWS4\(key.secret)".utf8))) { key, part in
            SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        let signature = Hex.text(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: signingKey))
        let authorization =
            "\(Self.algorithm) Credential=\(key.id)/\(scope.joined(separator: "/")),SignedHeaders=\(names),Signature=\(signature)"
        return signed + [Parameter("Authorization", authorization)]
    }

    /// `20130524T000000Z`.
    private static func stamp(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted))
    }

    /// Percent-encodes all bytes but letters, digits and `- . _ ~`.
    package static func encoded(_ text: String, keepsSlashes: Bool = false) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.append(byte)
            case UInt8(ascii: "/") where keepsSlashes: encoded.append(byte)
            default: encoded += Array("%\(Hex.text([byte], .upper))".utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
