// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import CloudWire
import SystemSupport

extension UserCommand {
    struct Roles: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the custom roles that a user has in a container, in place of those before.",
            discussion: Help.discussion(
                "Roles are made by the schema: CREATE ROLE. Without any, the user has none.",
                examples: "tarn user roles mia Moderators --container iCloud.org.example.notes"))

        @Argument(help: "Name of the user.")
        var name: String
        @Argument(help: "Names of roles.")
        var roles: [String] = []
        @OptionGroup var app: ContainerOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (container, environment) = (app.container, app.environment)
            try await options.withStore(mustExist: true, name: name, audited: CommandAudit("user.roles", name)) { store in
                let surroundings = CloudService.Surroundings.system
                let account = try await store.requiredAccount(named: name)
                let user = try await store.userRecordName(
                    account: account, containerIdentifier: container,
                    proposal: store.sealer.userRecordName(ofAccount: account, in: container))
                let engine = Engine(sealer: store.sealer)
                let call = Call(
                    partition: Partition(
                        containerIdentifier: container, environment: environment, scope: .public, owner: Partition.publicOwner),
                    caller: Caller(userRecordName: "", deviceID: "", kind: .operator), now: surroundings.now(), baseURL: "",
                    makeIdentifier: { "" })
                let roles = Set(self.roles)
                do {
                    try await store.write(call.partition) { try engine.roles.setRoles(roles, ofUser: user, in: $0, call) }
                } catch let error as WireError {
                    let partition = call.partition
                    let names = (try? await store.read(partition) { try $0.roles() }) ?? []
                    guard let unknown = roles.sorted().first(where: { !names.contains($0) }) else { throw CommandError(error.reason + ".") }
                    let list =
                        names.isEmpty
                        ? "it has none: make one with CREATE ROLE in 'tarn schema import'" : "it has " + names.joined(separator: ", ")
                    throw CommandError(
                        "The role \(unknown) does not exist in \(container), \(environment.rawValue); \(list)."
                            + Suggestion.sentence(for: unknown, among: names))
                }
            }
            output.printObject([
                "user": .text(name), "container": .text(container), "environment": .text(environment.rawValue),
                "roles": .list(Set(roles).sorted()),
            ])
        }
    }
}
