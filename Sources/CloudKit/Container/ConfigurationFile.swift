// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// What a `tarn.json` says. Every key may be missing.
///
///     {
///       "server": "https://cloud.example.org",
///       "token": "…",
///       "environment": "production",
///       "caCertificate": "operator-ca.pem",
///       "containers": {"iCloud.org.example.notes": {"token": "…"}}
///     }
package struct ConfigurationFile: WireMessage {
    package struct Entry: Hashable, Sendable {
        package var server: String?
        package var token: CKContainer.Configuration.Token?
        package var environment: String?
        /// A path, beside the file itself if it is relative.
        package var caCertificate: String?

        /// Reads the value of a key if it is one of an entry's.
        fileprivate mutating func take(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
            switch key {
            case "server": server = try reader.readString()
            case "token": token = CKContainer.Configuration.Token(try reader.readString())
            case "environment": environment = try reader.readString()
            case "caCertificate": caCertificate = try reader.readString()
            default: return false
            }
            return true
        }
    }

    package var all = Entry()
    /// What differs for single containers.
    package var containers: [String: Entry] = [:]

    package init(from reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try all.take(key, from: &reader) { continue }
            switch key {
            case "containers":
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    var entry = Entry()
                    let identifier = key.text
                    try reader.beginObject()
                    while let key = try reader.nextKey() {
                        if try !entry.take(key, from: &reader) { try reader.skipValue() }
                    }
                    containers[identifier] = entry
                }
            default: try reader.skipValue()
            }
        }
    }

    /// Writes all but the tokens: nothing in this module stores secrets.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("server", all.server)
            writer.member("environment", all.environment)
            writer.member("caCertificate", all.caCertificate)
        }
    }

    /// What holds for a container. A container with a server of its own has a token of its own too: a token never
    /// goes to a server it was not written down for.
    func entry(for identifier: String) -> Entry {
        guard let own = containers[identifier] else { return all }
        return Entry(
            server: own.server ?? all.server, token: own.token ?? (own.server == nil ? all.token : nil),
            environment: own.environment ?? all.environment,
            caCertificate: own.caCertificate ?? (own.server == nil ? all.caCertificate : nil))
    }
}
