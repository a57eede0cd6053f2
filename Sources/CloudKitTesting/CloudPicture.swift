// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation

extension TestCloud {
    /// Returns the content of the whole cloud as text, in a fixed order: the public database, then each account's
    /// private database, shared zones and subscriptions. Records have their fields and change tags.
    ///
    /// - Throws: `CKError` if the server is stopped.
    public func picture() async throws -> String {
        var lines = ["\(containerIdentifier)"]
        let databases = try await engine.databases(of: containerIdentifier)
        for database in databases where database.scope == .public {
            lines.append("  public")
            lines += database.zones.flatMap { Self.lines($0) }
        }
        for account in accounts {
            let transport = try await transport(of: "picture", account: account)
            var client = CloudDatabaseClient(
                containerIdentifier: containerIdentifier, environment: .development, scope: .private,
                transport: transport)
            let user = try await client.callerIdentity().userRecordName
            lines.append("  \(account) \(user)")
            for database in databases where database.scope == .private && database.owner == user {
                lines += database.zones.flatMap { Self.lines($0) }
            }
            for case .subscription(let subscription) in try await client.listSubscriptions().subscriptions {
                lines.append("    subscription \(subscription.subscriptionID)")
            }
            client = CloudDatabaseClient(
                containerIdentifier: containerIdentifier, environment: .development, scope: .shared, transport: transport)
            lines += try await sharedZones(client)
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ zone: InProcessCloud.ZoneContent) -> [String] {
        ["    zone \(zone.name)"] + zone.records.flatMap { lines($0) }
    }

    /// The zones shared with an account, without fields, which are listed with the owner's records.
    private func sharedZones(_ client: CloudDatabaseClient) async throws -> [String] {
        var lines: [String] = []
        for case .zone(let zone) in try await client.listZones().zones {
            lines.append("    shared zone \(zone.zoneID.zoneName) of \(zone.zoneID.ownerRecordName ?? "")")
            var records: [Record] = []
            var token: String?
            var isLast = false
            while !isLast {
                let query = ZoneChangesQuery(zoneID: zone.zoneID, syncToken: token, desiredKeys: [])
                guard case .changes(let page)? = try await client.zoneChanges(ZoneChangesRequest(zones: [query])).zones.first
                else { break }
                records += page.records.filter { !$0.isDeleted }
                token = page.syncToken
                isLast = !page.moreComing
            }
            for record in records.sorted(by: { $0.recordName < $1.recordName }) {
                lines.append("      \(record.recordType) \(record.recordName)")
            }
        }
        return lines
    }

    private static func lines(_ record: Record) -> [String] {
        var lines = ["      \(record.recordType) \(record.recordName) [\(record.recordChangeTag ?? "")]"]
        for (name, field) in record.fields.sorted(by: { $0.key < $1.key }) {
            let mark = field.isEncrypted ? " (encrypted)" : ""
            lines.append("        \(name) = \(field.value.map(Self.text) ?? "nil")\(mark)")
        }
        return lines
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let text): "\"\(text)\""
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .timestamp(let milliseconds): "\(Date(timeIntervalSince1970: Double(milliseconds) / 1000))"
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .reference(let reference): "→ \(reference.recordName)"
        case .location(let location): "(\(location.latitude), \(location.longitude))"
        case .asset(let asset): "file of \(asset.size) bytes"
        case .list(let members, _): "[\(members.map(text).joined(separator: ", "))]"
        }
    }
}
