// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudWire
import SystemSupport

/// `tarn zone`: zones of users' private databases, as the operator handles them.
struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "List, create, delete and restore zones of users.",
        subcommands: [List.self, Create.self, Delete.self, Restore.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the custom zones of a user.",
            discussion: Help.discussion(
                examples: "tarn zone list --user mia --container iCloud.org.example.notes",
                "tarn zone list --user mia --container iCloud.org.example.notes --server https://cloud.example.org --key-file operator.key")
        )

        @OptionGroup var place: ZoneOwnerOptions
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let act = ListZones(account: place.user, container: place.container, environment: place.environment)
            let zones = try await options.perform(act).zones
            var table = Table(("ZONE", "zone"), ("RECORD SIZE", "recordBytes"), ("ASSET SIZE", "assetBytes"))
            for zone in zones { table.add(.text(zone.name), .bytes(zone.bytes.records), .bytes(zone.bytes.assets)) }
            output.print(table, ifEmpty: "\(place.user) has no custom zones in \(place.container), \(place.environment.rawValue).")
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a zone in the private database of a user.",
            discussion: Help.discussion(
                "Devices receive the zone with their next fetch. A zone that exists stays as it is.",
                examples: "tarn zone create Notes --user mia --container iCloud.org.example.notes",
                "tarn zone create Notes --user mia --container iCloud.org.example.notes --server https://cloud.example.org --key-file operator.key"
            ))

        @Argument(help: "Name of the zone.")
        var zone: String
        @OptionGroup var place: ZoneOwnerOptions
        @OptionGroup var options: OperatorOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let act = CreateZone(account: place.user, container: place.container, environment: place.environment, zone: zone)
            let isNew = try await options.perform(act).isNew
            output.print(
                TerminalText.escaped("\(zone): \(isNew ? "created" : "exists already")"),
                ["zone": JSONText.string(zone), "created": isNew ? "true" : "false"])
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a zone with its records, and give devices a reason.",
            discussion: Help.discussion(
                """
                Reasons: 'deleted'; 'purged', the user removed the app's data, so devices delete their copies; \
                'encryptedDataReset', the user's keys were reset, so devices resend their copies. \
                Devices receive the reason with their next fetch.
                """, examples: "tarn zone delete Notes --yes --user mia --container iCloud.org.example.notes"))

        @Argument(help: "Name of the zone.")
        var zone: String
        @Option(help: ArgumentHelp("Why.", valueName: "reason"))
        var reason = ZoneDeletionReason.deleted
        @Flag(help: "Confirm the deletion.")
        var yes = false
        @OptionGroup var place: ZoneOwnerOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard yes else {
                throw ValidationError("This deletes the zone and its records from the server and from all devices: confirm it with --yes.")
            }
        }

        func run() async throws {
            let (zoneID, reason) = (ZoneID(zoneName: zone), reason)
            let size = try await options.withStore(
                mustExist: true, name: place.user, audited: CommandAudit("zone.delete", place.auditSubject)
            ) { store in
                let call = try await place.call(in: store)
                let engine = Engine(sealer: store.sealer)
                do {
                    let (outcome, size) = try await store.write(call.partition) { unit in
                        let size = try unit.zones().first { $0.name == zoneID.zoneName }?.usage ?? StoredBytes()
                        return (try engine.zones.delete(zoneID, because: reason, in: unit, call), size)
                    }
                    for key in outcome.zonesToEmpty {
                        try await store.empty(ZoneToEmpty(partition: call.partition, key: key, time: call.now))
                    }
                    return size
                } catch let error as WireError {
                    throw await place.zoneError(zone, error, in: store)
                }
            }
            output.print(
                TerminalText.escaped(
                    "\(zone): deleted, with \(ByteText.text(size.records)) of records and \(ByteText.text(size.assets)) of assets"),
                [
                    "user": JSONText.string(place.user), "container": JSONText.string(place.container),
                    "environment": JSONText.string(place.environment.rawValue), "zone": JSONText.string(zone),
                    "reason": JSONText.string(reason.rawValue), "recordBytes": "\(size.records)", "assetBytes": "\(size.assets)",
                ])
        }
    }
}

extension ZoneDeletionReason: ExpressibleByArgument {}

/// The owner and container of a private database.
struct ZoneOwnerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Name of the user.", valueName: "name"))
    var user: String
    @OptionGroup var app: ContainerOptions

    var container: String { app.container }
    var environment: CloudEnvironment { app.environment }
    /// As ``ListZones`` has it: without the names of zones.
    var auditSubject: String { "\(user), \(container) \(environment.rawValue)" }

    /// The error of an operation on a zone, with the nearest name if the zone does not exist.
    func zoneError(_ zone: String, _ error: WireError, in store: any OperatedStorage) async -> CommandError {
        guard error.code == .zoneNotFound || error.code == .notFound else { return CommandError("\(zone): \(error.reason).") }
        let partition = try? await partition(in: store)
        var names: [String] = []
        if let partition { names = (try? await store.read(partition) { try $0.zones().map(\.name) }) ?? [] }
        let suggestion = Suggestion.sentence(for: zone, among: names)
        return CommandError(
            "\(user) has no zone named \(zone) in \(container), \(environment.rawValue): 'tarn zone list' lists all zones.\(suggestion)"
        )
    }

    func partition(in store: any OperatedStorage) async throws -> Partition { try await call(in: store).partition }

    /// A call with the permissions of the user.
    func call(in store: any OperatedStorage) async throws -> Call {
        let surroundings = CloudService.Surroundings.system
        let account = try await store.requiredAccount(named: user)
        let containers = try await store.containers()
        guard containers.contains(container) else {
            throw CommandError(unknownContainer: container, data: "the server's data", among: containers)
        }
        let name = try await store.userRecordName(
            account: account, containerIdentifier: container, proposal: store.sealer.userRecordName(ofAccount: account, in: container))
        return Call(
            partition: Partition(containerIdentifier: container, environment: environment, owner: name),
            caller: Caller(userRecordName: name, deviceID: "", kind: .operator), now: surroundings.now(), baseURL: "",
            makeIdentifier: { Hex.text(surroundings.randomBytes(16)) })
    }
}
