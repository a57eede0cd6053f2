// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A bucket of an S3-compatible store, and the prefix of the keys of objects in it.
///
/// Addresses have the bucket in their path, which needs no DNS name for each bucket.
package struct S3Location: Hashable, Sendable {
    package let isEncrypted: Bool
    /// Host and, unless it is the scheme's own, port: the value of the `Host` header.
    package let host: String
    package let bucket: String
    /// Empty, or ends with a slash.
    package let prefix: String

    /// - Parameters:
    ///   - text: `s3://bucket` or `s3://bucket/prefix`. Bucket and prefix have letters, digits and `. _ -`; the prefix has slashes as well.
    ///   - endpoint: `https://host` or `http://host`, with a port if needed.
    /// - Returns: Nil if one of them has another form.
    package init?(_ text: String, endpoint: String) {
        guard text.hasPrefix("s3://"), let url = URLComponents(string: endpoint), let scheme = url.scheme, let host = url.host,
            !host.isEmpty,
            scheme == "https" || scheme == "http", ["", "/"].contains(url.path), url.user == nil, url.query == nil, url.fragment == nil
        else { return nil }
        let parts = text.dropFirst(5).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let components = parts.last == "" ? parts.dropLast() : parts[...]
        guard components.count <= 8, components.allSatisfy(Self.isName), let bucket = components.first, bucket.utf8.count >= 3 else {
            return nil
        }
        isEncrypted = scheme == "https"
        let ownPort = scheme == "https" ? 443 : 80
        let port = url.port.flatMap { $0 == ownPort ? nil : $0 }
        self.host = host + (port.map { ":\($0)" } ?? "")
        self.bucket = bucket
        prefix = components.dropFirst().map { "\($0)/" }.joined()
    }

    private static func isName(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// For people: `s3://bucket/prefix at https://host`.
    package var shown: String { "s3://\(bucket)/\(prefix.dropLast()) at \(base)".replacing("/ at", with: " at") }

    package var base: String { "\(isEncrypted ? "https" : "http")://\(host)" }

    /// Whether the endpoint is on this machine.
    package var isLoopback: Bool {
        let name = host.hasPrefix("[") ? String(host.prefix { $0 != "]" }.dropFirst()) : String(host.prefix { $0 != ":" })
        return name == "localhost" || name == "::1" || name.hasPrefix("127.") && name.allSatisfy { $0.isNumber || $0 == "." }
    }
}
