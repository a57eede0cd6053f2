// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudServer
import CloudService
import CloudWire
import Foundation
import SystemSupport

/// Writes an account's data to a folder that only its owner can read.
///
/// Reads records page by page, not in one snapshot: a record that changes during the export is written in its old or its new
/// version.
struct UserExport {
    struct Counts: Equatable {
        var records = 0
        var files = 0
    }

    private static let recordsPerPage = 200
    private static let pageBytes = 4_000_000
    private static let pieceBytes = 1 << 20
    private static let fileNameBytes = 200

    private let data: AccountData
    private let folder: String
    private let store: any OperatedStorage
    private let engine: Engine

    init(_ data: AccountData, folder: String, store: any OperatedStorage) {
        self.data = data
        self.folder = folder
        self.store = store
        engine = Engine(sealer: store.sealer)
    }

    func write() async throws -> Counts {
        try makeFolder(folder)
        try await writeAccount()
        try writeJSON(data.auditEvents.map(Self.object), to: "\(folder)/audit.json")
        var counts = Counts()
        for (container, name) in data.userRecordNames.sorted(by: { $0.key < $1.key }) {
            for environment in CloudEnvironment.allCases {
                try await write(container, environment, name, &counts)
            }
        }
        return counts
    }

    // MARK: Databases

    private func write(_ container: String, _ environment: CloudEnvironment, _ name: String, _ counts: inout Counts) async throws {
        let own = data.partitions.filter { $0.containerIdentifier == container && $0.environment == environment }
        let path = "\(folder)/\(container)/\(environment.rawValue)"
        let everybody = Partition(
            containerIdentifier: container, environment: environment, scope: .public, owner: Partition.publicOwner)
        var published = try await store.publicRecords(createdBy: name, in: everybody, after: nil)
        guard !own.isEmpty || !published.isEmpty else { return }
        for name in ["zones", "assets"] { try makeFolder("\(path)/\(name)") }

        var owned: [CloudWire.Record] = []
        if let partition = own.first(where: { $0.scope == .private }) {
            for (number, zone) in try await store.read(partition, { try $0.zones() }).enumerated() {
                let file = "\(path)/zones/\(Self.fileName(ofZone: zone.name, number)).json"
                owned += try await write(zone, of: partition, to: file, assets: path, &counts)
            }
        }
        let file = try UserExportFile("\(path)/public.json")
        try file.begin(ZoneID(zoneName: ZoneID.defaultZoneName))
        while let last = published.last {
            for scanned in published { try await add(scanned.record, to: file, everybody, assets: path, &counts) }
            published = try await store.publicRecords(createdBy: name, in: everybody, after: last)
        }
        try file.end()

        var joined: [ZoneID] = []
        var subscriptions: [String: [Any]] = [:]
        for partition in own {
            subscriptions[partition.scope.rawValue] = try await store.read(partition) { try $0.subscriptions() }.map { try Self.object($0) }
            guard partition.scope == .shared else { continue }
            let call = Call(
                partition: partition, caller: Caller(userRecordName: name, deviceID: "", kind: .operator),
                now: CloudService.Surroundings.system.now(), baseURL: "", makeIdentifier: { UUID().uuidString })
            let engine = engine
            joined = try await store.read(partition) { try engine.zones.list(in: $0, call) }.zones.compactMap {
                if case .zone(let zone) = $0 { zone.zoneID } else { nil }
            }
        }
        try writeJSON(subscriptions, to: "\(path)/subscriptions.json")
        let shares: [String: Any] = ["owned": try owned.map { try Self.object($0) }, "joined": try joined.map { try Self.object($0) }]
        try writeJSON(shares, to: "\(path)/shares.json")
    }

    /// - Returns: The shares among the records.
    private func write(
        _ zone: StoredZone, of partition: Partition, to path: String, assets: String, _ counts: inout Counts
    ) async throws -> [CloudWire.Record] {
        var shares: [CloudWire.Record] = []
        let file = try UserExportFile(path)
        try file.begin(ZoneID(zoneName: zone.name))
        var last: Int64 = 0
        while true {
            let after = last
            let page = try await store.read(partition) {
                try $0.records(
                    ChangeSlice(after: after), in: zone.key, includingDeleted: false, limit: Self.recordsPerPage, bytesMax: Self.pageBytes)
            }
            guard let end = page.last?.change else { break }
            last = end
            for stored in page {
                if stored.record.recordType == ShareDetails.recordType { shares.append(stored.record) }
                try await add(stored.record, to: file, partition, assets: assets, &counts)
            }
        }
        try file.end()
        return shares
    }

    private func add(
        _ record: CloudWire.Record, to file: UserExportFile, _ partition: Partition, assets path: String, _ counts: inout Counts
    ) async throws {
        try file.add(record.encoded())
        counts.records += 1
        for asset in record.assets {
            let path = "\(path)/assets/\(asset.fileChecksum)"
            guard !FileManager.default.fileExists(atPath: path),
                let reader = try await store.open(checksum: asset.fileChecksum, in: partition)
            else { continue }
            // The first read finds that an object was lost: the export has no empty file in its place.
            var piece = try await reader.read(at: 0, count: Self.pieceBytes)
            let copy = try UserExportFile(path)
            var offset: Int64 = 0
            while !piece.isEmpty {
                try copy.write(piece)
                offset += Int64(piece.count)
                piece = try await reader.read(at: offset, count: Self.pieceBytes)
            }
            counts.files += 1
        }
    }

    /// A zone's name as a file name: percent-encoded except for letters, digits and `. _ -`; `zone+NUMBER` if that exceeds 200 bytes. No
    /// encoded name has a plus sign.
    static func fileName(ofZone name: String, _ number: Int) -> String {
        let isPlain: (UInt8) -> Bool = { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: ". _-".utf8.contains(byte) && byte != UInt8(ascii: " ")
            }
        }
        let text = name.utf8.map { isPlain($0) ? String(UnicodeScalar($0)) : "%" + Hex.text([$0]).uppercased() }.joined()
        return text.utf8.count <= fileNameBytes ? text : "zone+\(number)"
    }

    // MARK: Account

    private func writeAccount() async throws {
        let accesses = try await store.accesses(ofUser: data.profile.accountName)
        var account: [String: Any] = [
            "name": data.profile.accountName, "created": data.created, "discoverable": data.profile.isDiscoverable,
            "operator": data.profile.isOperator, "userRecordNames": data.userRecordNames,
            "roles": data.roles.map { ["container": $0.containerIdentifier, "environment": $0.environment, "role": $0.role] },
            "processingPaused": data.restrictions.map { ["container": $0.containerIdentifier, "environment": $0.environment] },
            "identities": data.identities.map { ["issuer": $0.issuer, "subject": $0.subject] },
            "devices": accesses.compactMap(Self.device), "sessions": accesses.compactMap(Self.session),
        ]
        account["givenName"] = data.profile.name.givenName
        account["familyName"] = data.profile.name.familyName
        account["emailAddress"] = data.profile.emailAddress
        account["phoneNumber"] = data.profile.phoneNumber
        account["quota"] = data.quota
        account["secondFactorSince"] = data.secondFactorSince
        try writeJSON(account, to: "\(folder)/account.json")
    }

    private static func device(_ access: AccountAccess) -> [String: Any]? {
        guard case .device(let label, let expires) = access.kind else { return nil }
        var object = use(access)
        object["label"] = label
        object["expires"] = expires
        return object
    }

    private static func session(_ access: AccountAccess) -> [String: Any]? {
        guard case .session(let opened, let device) = access.kind else { return nil }
        var object = use(access)
        object["use"] = opened.summary
        if case .container(let container) = opened { object["container"] = container }
        object["device"] = device
        return object
    }

    private static func use(_ access: AccountAccess) -> [String: Any] {
        var object: [String: Any] = ["id": access.id, "began": access.began]
        object["lastUse"] = access.lastUse?.time
        object["network"] = access.lastUse?.network
        object["platform"] = access.lastUse?.platform
        return object
    }

    private static func object(_ event: AuditEvent) -> [String: Any] {
        [
            "time": event.time, "actor": event.actor, "network": event.network, "action": event.action, "subject": event.subject,
            "outcome": event.outcome.rawValue,
        ]
    }

    private static func object(_ message: some WireMessage) throws -> Any {
        try JSONSerialization.jsonObject(with: Data(message.encoded()))
    }

    // MARK: Files

    private func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private func writeJSON(_ object: Any, to path: String) throws {
        let bytes = try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        try UserExportFile(path).write([UInt8](bytes))
    }
}

/// A new file that only its owner can read.
private final class UserExportFile {
    private let handle: FileHandle
    private var isFirst = true

    /// - Throws: `CocoaError`.
    init(_ path: String) throws {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ bytes: [UInt8]) throws { try handle.write(contentsOf: Data(bytes)) }

    // MARK: Records

    func begin(_ zoneID: ZoneID) throws { try write(Array("{\"zoneID\":".utf8) + zoneID.encoded() + Array(",\"records\":[".utf8)) }

    func add(_ record: [UInt8]) throws {
        try write(Array((isFirst ? "\n" : ",\n").utf8) + record)
        isFirst = false
    }

    func end() throws { try write(Array("\n]}\n".utf8)) }
}
