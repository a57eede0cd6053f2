// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import Foundation
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import TarnCommands

    /// `tarn database move` under a running server with two devices that mirror their stores.
    @Suite(
        .closesFixtures, .tags(.slow), .enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil },
        .timeLimit(.minutes(5)))
    struct ServerMoveTests {
        @Test func devicesContinueOnTheNewDatabaseAndBack() async throws {
            let folder = try Folder()
            let data = folder.path("server")
            let database = try #require(TemporaryPostgres.shared).makeDatabase()
            let tokens = [
                try await Programs.tarn(["user", "add", "mia", "--data", data], in: folder),
                try await Programs.tarn(["user", "token", "mia", "--device", "phone", "--data", data], in: folder),
            ]
            let server = try ChildProcess(
                "tarn", program: Programs.folder.appendingPathComponent("tarn"),
                arguments: ["serve", "--data", data, "--port", "0", "--exit-with-parent"],
                log: URL(fileURLWithPath: folder.path("server.log"))
            ).stoppedWithTest()
            let address = try await within(.seconds(60), "the server did not start") { try await server.line(after: "tarn: listening on ") }
            var devices: [TestDevice] = []
            for (index, token) in tokens.enumerated() {
                devices.append(
                    try await TestDevice(
                        store: folder.path("device\(index)"), in: folder, environment: ["TARN_SERVER": address, "TARN_TOKEN": token]))
            }
            _ = try await devices[0].remote.addPost("first")
            try await devices[1].waits(for: "the post of the other device") { $0.posts.count == 1 }

            for (move, arguments) in [
                ["--data", data, "--to", database], ["--database", database, "--data", data, "--to", data],
            ].enumerated() {
                let remote = devices[move].remote
                let writing = Task {
                    for number in 0..<40 { _ = try await remote.addPost("during \(move) \(number)") }
                }
                let moved = try await Programs.run("tarn", ["database", "move", "--json"] + arguments, in: folder, atMost: .seconds(120))
                #expect(moved.status == 0, "\(moved.complaint)")
                #expect(moved.output.contains("stopMilliseconds"))
                try await writing.value
                let again = try await within(.seconds(60), "the server did not continue") {
                    try await server.line(after: "tarn: listening on ")
                }
                #expect(again == address)
                _ = try await devices[1 - move].remote.addPost("after \(move)")
                let count = 1 + (move + 1) * 41
                for device in devices {
                    try await device.waits(for: "\(count) posts") { $0.posts.count == count }
                }
            }
            // Records that were sent again would be there twice, under other names or as conflicts.
            let contents = [await devices[0].watch[.iPad].content, await devices[1].watch[.iPad].content]
            #expect(contents[0] == contents[1])
            #expect(Set(contents[0]).count == contents[0].count)
            for device in devices { await device.stop() }
        }
    }
#endif
