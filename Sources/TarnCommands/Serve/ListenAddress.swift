// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An address and a port to listen on: `127.0.0.1:8081`, `[::1]:8081`.
struct ListenAddress: Hashable, Sendable {
    /// Without brackets.
    var host: String
    /// 0 binds an ephemeral port.
    var port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]), (0...65535).contains(port) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.allSatisfy({ $0.isLetter || $0.isNumber || ".:-%".contains($0) }) else { return nil }
        self.init(host: String(host), port: port)
    }

    /// The form in URLs.
    func shown(port: Int) -> String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
