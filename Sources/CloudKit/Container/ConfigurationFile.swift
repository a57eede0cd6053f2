// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The content of a `tarn.json`. Every key is optional.
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
        /// A path, relative to the file's own folder unless it is absolute.
        package var caCertificate: String?

        /// Decodes the value of a key, if it is a key of an entry.
        fileprivate mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
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
    /// Settings of single containers.
    package var containers: [String: Entry] = [:]

    package init(from reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try all.decode(key, from: &reader) { continue }
            switch key {
            case "containers":
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    var entry = Entry()
                    let identifier = key.text
                    try reader.beginObject()
                    while let key = try reader.nextKey() {
                        if try !entry.decode(key, from: &reader) { try reader.skipValue() }
                    }
                    containers[identifier] = entry
                }
            default: try reader.skipValue()
            }
        }
    }

    /// Encodes everything but the tokens: nothing in this module stores secrets.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("server", all.server)
            writer.member("environment", all.environment)
            writer.member("caCertificate", all.caCertificate)
        }
    }

    /// The settings of a container. A container with a server of its own needs a token of its own, so that a token is
    /// never sent to a server it was not issued for.
    func entry(for identifier: String) -> Entry {
        guard let entry = containers[identifier] else { return all }
        return Entry(
            server: entry.server ?? all.server, token: entry.token ?? (entry.server == nil ? all.token : nil),
            environment: entry.environment ?? all.environment,
            caCertificate: entry.caCertificate ?? (entry.server == nil ? all.caCertificate : nil))
    }
}
