// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire
import SystemSupport

/// The context of a sign-in page: the container, and the page that requested it. It is part of the
/// address of the page, sealed.
package struct SignInFlow: Hashable, Sendable {
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    /// 0 where no API token was used.
    package var apiToken: Int64
    /// The page that asked, as its browser named it; empty if none did.
    package var origin: String
    /// Seconds since 1970 UTC.
    package var expires: Int64

    package init(
        containerIdentifier: String, environment: CloudEnvironment, apiToken: Int64, origin: String, expires: Int64
    ) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.apiToken = apiToken
        self.origin = origin
        self.expires = expires
    }

    func sealed(by sealer: Sealer) -> String {
        let plain = Array("\(containerIdentifier) \(environment.rawValue) \(apiToken) \(expires) \(origin)".utf8)
        return Hex.text(plain + sealer.code(of: plain, purpose: .signIn))
    }

    /// - Returns: Nil for a text that this server did not make, or that has expired.
    init?(opening text: String, now: Int64, by sealer: Sealer) {
        guard text.utf8.count < 4096, let bytes = Hex.bytes(text), bytes.count > Sealer.codeBytes else { return nil }
        let plain = Array(bytes.dropLast(Sealer.codeBytes))
        guard sealer.isCode(bytes.suffix(Sealer.codeBytes), of: plain, purpose: .signIn) else { return nil }
        let parts = String(decoding: plain, as: UTF8.self).split(
            separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, let environment = CloudEnvironment(rawValue: String(parts[1])),
            let apiToken = Int64(parts[2]), let expires = Int64(parts[3]), now / 1000 < expires
        else { return nil }
        containerIdentifier = String(parts[0])
        self.environment = environment
        self.apiToken = apiToken
        self.expires = expires
        origin = String(parts[4])
    }
}
