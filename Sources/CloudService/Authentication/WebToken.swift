// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// A web auth token: names a session and says until when. Every answer brings a new one; older ones stay good until
/// their time is over, and all of them end with the session.
///
/// Source: *CloudKit Web Services Reference*: 30 minutes, two weeks for users that stay signed in. Differs: the documents say
/// that a token is good for one request; the service in use keeps older ones valid, and so does this one, since requests
/// run side by side. With ``ServiceProfile/apple`` a token is good for one request, and has a nonce.
struct WebToken: Hashable, Sendable {
    static let sessionBytes = 16
    static let nonceBytes = 8
    private static let version: UInt8 = 1
    private static let onceVersion: UInt8 = 2
    private static let plainBytes = 1 + sessionBytes + 8
    /// Tokens of the service in use begin with two numbers, and continue in Base64, signs included that an address encodes.
    ///
    /// Source: public reports.
    private static let oncePrefix = "1__2__"

    var session: [UInt8]
    /// Milliseconds since 1970 UTC.
    var expires: Int64
    /// ``nonceBytes`` of a token for one request; empty for others.
    var nonce: [UInt8] = []

    init(session: [UInt8], _ details: WebSession, now: Int64, _ limits: Limits) {
        let seconds = details.isKept ? limits.webTokenKeptSeconds : limits.webTokenSeconds
        self.session = session
        expires = min(now + Int64(seconds) * 1000, details.started + Int64(limits.webSessionSeconds) * 1000)
    }

    /// The authenticated bytes.
    var content: [UInt8] {
        let version: [UInt8] = [nonce.isEmpty ? Self.version : Self.onceVersion]
        let time: [UInt8] = withUnsafeBytes(of: expires.bigEndian) { Array($0) }
        return version + session + time + nonce
    }

    /// Hexadecimal digits: no sign of it needs encoding in an address. A token for one request has the form of the service in use.
    func sealed(by sealer: Sealer) -> String {
        let bytes = content + sealer.code(of: content, purpose: .webToken)
        return nonce.isEmpty ? Hex.text(bytes) : Self.oncePrefix + Base64.encode(bytes)
    }

    /// - Returns: Nil for a token that this server did not make.
    init?(opening text: String, by sealer: Sealer) {
        let isOnce = text.hasPrefix(Self.oncePrefix)
        guard text.utf8.count <= 4 * (Self.plainBytes + Self.nonceBytes + Sealer.codeBytes),
            let bytes = isOnce ? Base64.decode(String(text.dropFirst(Self.oncePrefix.count))) : Hex.bytes(text)
        else { return nil }
        let plainBytes = Self.plainBytes + (isOnce ? Self.nonceBytes : 0)
        guard bytes.count == plainBytes + Sealer.codeBytes, bytes[0] == (isOnce ? Self.onceVersion : Self.version),
            sealer.isCode(bytes[plainBytes...], of: Array(bytes[..<plainBytes]), purpose: .webToken)
        else { return nil }
        session = Array(bytes[1...Self.sessionBytes])
        expires = Int64(
            bitPattern: bytes[(1 + Self.sessionBytes)..<Self.plainBytes].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
        nonce = Array(bytes[Self.plainBytes..<plainBytes])
    }

    func isExpired(at now: Int64) -> Bool { now >= expires }
}
