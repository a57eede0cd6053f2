// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudServer
import CloudService
import CloudWire
import SystemSupport

/// Checks of a server's accounts, containers and schemas.
struct ContentChecks {
    let store: any OperatedStorage
    /// The folder or database, for sentences.
    let place: String
    let container: String?

    func run() async throws -> [Finding] { [try await operators()] + (try await containers()) }

    private func operators() async throws -> Finding {
        let names = try await store.profiles().filter(\.isOperator).map(\.accountName)
        guard names.isEmpty else { return .ok("operators", names.joined(separator: ", ")) }
        return .warning(
            "operators", "no user is an operator, so the console cannot be used",
            "open the one-time link of 'tarn serve', or run 'tarn user profile NAME --operator' and 'tarn user password NAME'")
    }

    private func containers() async throws -> [Finding] {
        let known = try await store.containers()
        if let container, !known.contains(container) {
            return [
                .problem(
                    "container", CommandError(unknownContainer: container, data: place, among: known).description,
                    "check the app's container identifier")
            ]
        }
        guard !known.isEmpty else { return [.warning("containers", "there are none yet", "the first save of an app makes one")] }
        var findings: [Finding] = []
        for container in container.map({ [$0] }) ?? known {
            let service = SchemaService(
                containerIdentifier: container, engine: Engine(sealer: store.sealer), storage: store, surroundings: .system)
            let (development, production) = (try await service.export(.development), try await service.export(.production))
            func count(_ schema: ContainerSchema) -> Int { schema.types.keys.count { $0 != UsersType.name } }
            let text = "\(CountText.text(count(development), "record type")) in development, \(count(production)) in production"
            let additions = try await service.differences().count
            if count(development) > 0, additions > 0 {
                findings.append(
                    .warning(
                        "schema", "\(container): \(text); \(CountText.text(additions, "difference"))",
                        "'tarn schema diff --container \(container)' shows them, and 'tarn schema deploy' takes them to production"))
            } else {
                findings.append(.ok("schema", "\(container): \(text)"))
            }
        }
        return findings
    }
}
