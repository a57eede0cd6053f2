// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudWire
import StorageFixtures
import TestBasics
import Testing

@testable import TarnCommands

@Suite struct ZoneCommandTests {
    @Test func aZoneDeletedByCommandReportsItsReasonToClients() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let arguments =
                [
                    "Garden", "--yes", "--reason", "purged", "--user", "mia", "--container", LiveServer.container,
                ] + server.place.arguments
            let missing = await #expect(throws: CommandError.self) { try await ZoneCommand.Delete.parse(arguments).run() }
            #expect(missing?.description.hasPrefix("The container \(LiveServer.container) does not exist") == true)
            try await server.makeGarden(token: token)
            let before = try DatabaseChangesResponse(
                json: try await server.post(.databaseChanges, DatabaseChangesRequest(), token: token).body)
            try await ZoneCommand.Delete.parse(arguments).run()
            let request = DatabaseChangesRequest(syncToken: before.syncToken)
            let after = try DatabaseChangesResponse(json: try await server.post(.databaseChanges, request, token: token).body)
            #expect(after.zones.map(\.deletionReason) == [.purged])
        }
    }
}
