// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation

extension TestCloud {
    /// The whole cloud as text: accounts, their zones, records with fields and tags, and subscriptions, in a fixed order.
    ///
    /// Records of default zones, whose changes cannot be asked for, are shown once an app looked them up or saved them
    /// through this cloud's devices; their names are not known otherwise.
    public func picture() async throws -> String {
        var lines = ["\(containerIdentifier)"]
        for account in accounts {
            let transport = try await transport(of: "picture", account: account)
            let client = CloudDatabaseClient(
                containerIdentifier: containerIdentifier, environment: .development, scope: .private,
                transport: transport)
            lines.append("  \(account) \(try await client.callerIdentity().userRecordName)")
            lines += try await zones(client)
            for case .subscription(let subscription) in try await client.listSubscriptions().subscriptions {
                lines.append("    subscription \(subscription.subscriptionID)")
            }
        }
        return lines.joined(separator: "\n")
    }

    private func zones(_ client: CloudDatabaseClient) async throws -> [String] {
        var lines: [String] = []
        for case .zone(let zone) in try await client.listZones().zones {
            lines.append("    zone \(zone.zoneID.zoneName)")
            guard zone.zoneID.zoneName != ZoneID.defaultZoneName else { continue }
            var records: [Record] = []
            var token: String?
            var isLast = false
            while !isLast {
                let query = ZoneChangesQuery(zoneID: zone.zoneID, syncToken: token)
                guard case .changes(let page)? = try await client.zoneChanges(ZoneChangesRequest(zones: [query])).zones.first
                else { break }
                records += page.records.filter { !$0.isDeleted }
                token = page.syncToken
                isLast = !page.moreComing
            }
            for record in records.sorted(by: { $0.recordName < $1.recordName }) {
                lines.append("      \(record.recordType) \(record.recordName) [\(record.recordChangeTag ?? "")]")
                for (name, field) in record.fields.sorted(by: { $0.key < $1.key }) {
                    let mark = field.isEncrypted ? " (encrypted)" : ""
                    lines.append("        \(name) = \(field.value.map(Self.text) ?? "nil")\(mark)")
                }
            }
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
