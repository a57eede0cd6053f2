// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudWire

/// `tarn zone`: zones of users' private databases, as the operator handles them.
struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "List, delete and restore zones of users.", subcommands: [List.self, Delete.self, Restore.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the custom zones of a user, one a line.")

        @OptionGroup var place: ZoneOwnerOptions
        @OptionGroup var options: DataOptions

        func run() async throws {
            let names = try await options.withStore(mustExist: true, name: place.user) { store in
                try await store.read(try await place.partition(in: store)) { try $0.zones().filter { !$0.isDefault }.map(\.name) }
            }
            for name in names { Output.line(name) }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a zone with its records, and tell devices why.",
            discussion: """
                Reasons: 'deleted'; 'purged', the user removed what the app kept, so that devices remove their copies; \
                'encryptedDataReset', the user's keys were reset, so that devices send their copies again. \
                Devices learn of it when they next ask for changes.
                """)

        @Argument(help: "Name of the zone.")
        var zone: String
        @Option(help: ArgumentHelp("Why.", valueName: "reason"))
        var reason = ZoneDeletionReason.deleted
        @OptionGroup var place: ZoneOwnerOptions
        @OptionGroup var options: DataOptions

        func run() async throws {
            let (zoneID, reason) = (ZoneID(zoneName: zone), reason)
            try await options.withStore(mustExist: true, name: place.user) { store in
                let call = try await place.call(in: store)
                let engine = Engine(sealer: store.sealer)
                do {
                    _ = try await store.write(call.partition) { try engine.deleteZone(zoneID, because: reason, in: $0, call) }
                } catch let error as WireError {
                    throw CommandError("\(zone): \(error.reason).")
                }
            }
        }
    }
}

extension ZoneDeletionReason: ExpressibleByArgument {}

/// Whose private database is meant.
struct ZoneOwnerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Name of the user.", valueName: "name"))
    var user: String
    @Option(help: ArgumentHelp("Container, such as iCloud.org.example.notes.", valueName: "identifier"))
    var container: String
    @Option(help: "development or production.")
    var environment = CloudEnvironment.development

    func validate() throws {
        guard PathSegments.isContainerIdentifier(container) else {
            throw ValidationError("A container identifier has letters, digits and the signs . - _")
        }
    }

    func partition(in store: SQLiteServerStore) async throws -> Partition { try await call(in: store).partition }

    /// A call as the user would make it.
    func call(in store: SQLiteServerStore) async throws -> Call {
        let surroundings = CloudService.Surroundings.system
        guard let account = try await store.account(named: user) else {
            throw StorageFailure(.unknownName, "there is no user of this name")
        }
        let name = try await store.userRecordName(
            account: account, containerIdentifier: container, proposal: "_" + Hex.text(surroundings.randomBytes(16)))
        return Call(
            partition: Partition(containerIdentifier: container, environment: environment, owner: name),
            caller: Caller(userRecordName: name, deviceID: "", kind: .operator), now: surroundings.now(), baseURL: "",
            makeIdentifier: { Hex.text(surroundings.randomBytes(16)) })
    }
}
