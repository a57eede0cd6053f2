// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The devices that are connected to this process: `/console/devices`, and those of one account.
struct DevicePages {
    private static let devicesMax = 200

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private struct Device {
        /// Empty for a client without an account.
        var account: String
        var label: String
        var connection: PushConnection
    }

    /// The account of a user record name, with labels by ``AccountAccess/id``.
    private struct User {
        var account = ""
        var labels: [String: String] = [:]
    }

    // MARK: All accounts

    func all() async throws -> ServiceResponse {
        let (devices, total) = try await connected()
        let values: [String: Any] = [
            "total": total, "most": Self.devicesMax,
            "devices": devices.map { device -> [String: Any] in
                var row: [String: Any] = [
                    "label": device.label, "container": device.connection.audience.containerIdentifier,
                    "environment": device.connection.audience.environment.rawValue, "since": FieldText.date(device.connection.began),
                ]
                if !device.account.isEmpty { row["account"] = device.account }
                return row
            },
        ]
        return pages.page("devices", values, title: "Devices", visit, scripts: ["/console-devices.js"])
    }

    /// `{"total": 1, "devices": [{"account": "mia", "label": "phone", "container": "…", "environment": "…", "since": 0}]}`.
    func allJSON() async throws -> ServiceResponse {
        let (devices, total) = try await connected()
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("total", total)
            writer.key("devices")
            writer.array(devices) { writer, device in
                writer.object { writer in
                    writer.member("account", device.account)
                    writer.member("label", device.label)
                    writer.member("container", device.connection.audience.containerIdentifier)
                    writer.member("environment", device.connection.audience.environment.rawValue)
                    writer.member("since", device.connection.began)
                }
            }
        }
        return Page.json(writer.bytes)
    }

    /// The newest connections, and the number of all.
    private func connected() async throws -> (devices: [Device], total: Int) {
        let connections = pages.console.hub?.connections ?? []
        var users: [PushAudience: User] = [:]
        var devices: [Device] = []
        for connection in connections.prefix(Self.devicesMax) {
            var user = users[connection.audience]
            if user == nil {
                user = try await self.user(of: connection.audience)
                users[connection.audience] = user
            }
            let label = connection.accessID.flatMap { user?.labels[$0] }
            devices.append(
                Device(account: user?.account ?? "", label: label ?? Self.label(of: connection), connection: connection))
        }
        return (devices, connections.count)
    }

    private func user(of audience: PushAudience) async throws -> User {
        guard !audience.isPublic,
            let profile = try await pages.console.service.directory.profile(
                ofUser: audience.userRecordName, in: audience.containerIdentifier)
        else { return User() }
        let name = profile.accountName
        return User(account: name, labels: try await SenderNames.labels(ofUser: name, pages.console.storage))
    }

    private static func label(of connection: PushConnection) -> String {
        switch connection.credential {
        case .serverKey(let id)?: "server-to-server key \(id)"
        case nil: "anonymous client"
        case .device?, .session?: connection.deviceID
        }
    }

    // MARK: One account

    /// Since when the devices and sessions of an account are connected, by ``AccountAccess/id``; in milliseconds since 1970 UTC.
    func connected(_ accesses: [AccountAccess], ofAccount account: Int64) -> [String: Int64] {
        let ids = Set(accesses.map(\.id))
        var began: [String: Int64] = [:]
        for connection in pages.console.hub?.connections ?? [] {
            guard let id = connection.accessID, ids.contains(id), connection.isOf(id, ofAccount: account) else { continue }
            began[id] = min(began[id] ?? connection.began, connection.began)
        }
        return began
    }

    /// `{"connected": [{"id": "…", "since": 0}]}`.
    func json(ofAccount account: Int64, named name: String) async throws -> ServiceResponse {
        let accesses = try await pages.console.storage.accesses(ofUser: name)
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("connected")
            writer.array(connected(accesses, ofAccount: account).sorted { $0.key < $1.key }) { writer, entry in
                writer.object { writer in
                    writer.member("id", entry.key)
                    writer.member("since", entry.value)
                }
            }
        }
        return Page.json(writer.bytes)
    }
}
