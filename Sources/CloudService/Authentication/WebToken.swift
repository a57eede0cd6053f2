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
/// run side by side.
struct WebToken: Hashable, Sendable {
    static let sessionBytes = 16
    private static let version: UInt8 = 1
    private static let plainBytes = 1 + sessionBytes + 8

    var session: [UInt8]
    /// Milliseconds since 1970 UTC.
    var expires: Int64

    init(session: [UInt8], _ details: WebSession, now: Int64, _ limits: Limits) {
        let seconds = details.isKept ? limits.webTokenKeptSeconds : limits.webTokenSeconds
        self.session = session
        expires = min(now + Int64(seconds) * 1000, details.started + Int64(limits.webSessionSeconds) * 1000)
    }

    /// Hexadecimal digits: no sign of it needs encoding in an address.
    func sealed(by sealer: Sealer) -> String {
        let plain = [Self.version] + session + withUnsafeBytes(of: expires.bigEndian) { Array($0) }
        return Hex.text(plain + sealer.code(of: plain, purpose: .webToken))
    }

    /// - Returns: Nil for a token that this server did not make.
    init?(opening text: String, by sealer: Sealer) {
        guard text.utf8.count == 2 * (Self.plainBytes + Sealer.codeBytes), let bytes = Hex.bytes(text),
            bytes[0] == Self.version,
            sealer.isCode(bytes[Self.plainBytes...], of: Array(bytes[..<Self.plainBytes]), purpose: .webToken)
        else { return nil }
        session = Array(bytes[1...Self.sessionBytes])
        expires = Int64(
            bitPattern: bytes[(1 + Self.sessionBytes)..<Self.plainBytes].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
    }

    func isExpired(at now: Int64) -> Bool { now >= expires }
}
