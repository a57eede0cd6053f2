// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Lists the custom zones of a user's private database, without their records.
package struct ListZones: AdminOperation {
    package static let name = "zone.list"

    package var account: String
    package var container: String
    package var environment: CloudEnvironment

    package init(account: String, container: String, environment: CloudEnvironment) {
        self.account = account
        self.container = container
        self.environment = environment
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        container = try object.text("container")
        environment = try object.choice("environment")
    }

    package var object: FlatObject {
        ["user": .text(account), "container": .text(container), "environment": .text(environment.rawValue)]
    }
    package var subject: String { "\(account), \(container) \(environment.rawValue)" }
    package var user: String? { account }

    package func perform(in context: AdminContext) async throws -> ZoneList {
        guard let number = try await context.storage.account(named: account) else { throw StorageFailure.unknownUser }
        try await context.checkContainer(container)
        let name = try await context.service.userRecordName(of: number, in: container)
        let zones = try await context.service.zoneContents.zones(
            of: Partition(containerIdentifier: container, environment: environment, owner: name))
        return ZoneList(zones: zones.filter { !$0.isDefault }.map { ZoneList.Zone(name: $0.name, bytes: $0.usage) })
    }
}

package struct ZoneList: FlatMessage {
    package struct Zone: Hashable, Sendable {
        package var name: String
        package var bytes: StoredBytes
    }

    package var zones: [Zone]

    package init(zones: [Zone]) { self.zones = zones }

    package init(_ object: FlatObject) throws(WireError) {
        zones = []
        for zone in object.objects("zones") {
            let bytes = StoredBytes(records: try zone.number("recordBytes"), assets: try zone.number("assetBytes"))
            zones.append(Zone(name: try zone.text("zone"), bytes: bytes))
        }
    }

    package var object: FlatObject {
        let rows = zones.map { zone -> FlatObject in
            ["zone": .text(zone.name), "recordBytes": .number(zone.bytes.records), "assetBytes": .number(zone.bytes.assets)]
        }
        return ["zones": .objects(rows)]
    }
}

/// Creates a custom zone in a user's private database. An existing one stays as it is.
package struct CreateZone: AdminOperation {
    package static let name = "zone.create"

    package var account: String
    package var container: String
    package var environment: CloudEnvironment
    package var zone: String

    package init(account: String, container: String, environment: CloudEnvironment, zone: String) {
        self.account = account
        self.container = container
        self.environment = environment
        self.zone = zone
    }

    package init(_ object: FlatObject) throws(WireError) {
        account = try object.text("user")
        container = try object.text("container")
        environment = try object.choice("environment")
        zone = try object.text("zone")
    }

    package var object: FlatObject {
        ["user": .text(account), "container": .text(container), "environment": .text(environment.rawValue), "zone": .text(zone)]
    }
    package var subject: String { "\(account), \(container) \(environment.rawValue)" }
    package var user: String? { account }

    package func perform(in context: AdminContext) async throws -> CreatedZone {
        guard let number = try await context.storage.account(named: account) else { throw StorageFailure.unknownUser }
        try await context.checkContainer(container)
        let service = context.service
        let name = try await service.userRecordName(of: number, in: container)
        let call = service.call(
            Partition(containerIdentifier: container, environment: environment, owner: name),
            Caller(userRecordName: name, deviceID: "tarn", kind: .user), baseURL: "")
        let zones = try await service.zoneContents.zones(of: call.partition).map(\.name)
        let request = ZonesModifyRequest(operations: [.create(ZoneID(zoneName: zone))])
        let response = try ZonesResponse(json: try await service.perform(.modifyZones, request.encoded(), as: call))
        if case .failure(_, let error)? = response.zones.first { throw error }
        return CreatedZone(isNew: zone != ZoneID.defaultZoneName && !zones.contains(zone))
    }
}

package struct CreatedZone: FlatMessage {
    /// `false` for a zone that existed.
    package var isNew: Bool

    package init(isNew: Bool) { self.isNew = isNew }

    package init(_ object: FlatObject) throws(WireError) { isNew = object.flag("created") }

    package var object: FlatObject { ["created": .flag(isNew)] }
}
