// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import AsyncHTTPClient
    import CloudEngine
    import CloudEnginePostgres
    import CloudService
    import CloudWire
    import Foundation
    import NIOCore
    import NIOHTTP1
    import TemporaryPostgres
    import TestBasics
    import Testing

    /// Two server processes on one database.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(2)))
    struct PostgresProcessTests {
        private typealias ServerProcess = ServerProcessTests.ServerProcess

        /// Two servers, and a user with a token for each of two devices.
        private struct Pair {
            let folder = TemporaryFolder()
            let database: String
            let servers: [ServerProcess]
            let tokens: [String]

            init() async throws {
                database = try #require(TemporaryPostgres.shared).makeDatabase()
                let store = try PostgresServerStore(address: database, assets: folder.path, connections: 2, passwordRounds: 16)
                tokens = [
                    try await store.addUser(name: "mia", deviceLabel: "tablet", now: 1),
                    try await store.addToken(userName: "mia", deviceLabel: "phone", now: 1),
                ]
                try store.close()
                let (path, address) = (folder.path, database)
                servers = try (0..<2).map { _ in try ServerProcess(data: path, arguments: ["--database", address]) }
                for server in servers { try #require(server.port > 0) }
            }

            func post(
                _ server: Int, _ operation: ServicePath.Operation, _ message: some WireMessage, token: Int = 0
            ) async throws -> [UInt8] {
                var request = HTTPClientRequest(url: "http://127.0.0.1:\(servers[server].port)\(LiveServer.database)/\(operation.rawValue)")
                request.method = .POST
                request.headers.add(name: "Authorization", value: "Bearer \(tokens[token])")
                request.body = .bytes(ByteBuffer(bytes: message.encoded()))
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
                guard response.status.code == 200 else { throw WireError(.internalError, "status \(response.status.code)") }
                return Array(try await response.body.collect(upTo: 10_000_000).readableBytesView)
            }

            func save(_ names: [String], on server: Int) async throws {
                let message = ModifyRecordsRequest(
                    operations: names.map { RecordOperation(.create, Record(recordName: $0, recordType: "Plant")) },
                    zoneID: LiveServer.garden)
                let response = try ModifyRecordsResponse(json: try await post(server, .modifyRecords, message))
                #expect(response.results.allSatisfy { if case .record = $0 { true } else { false } })
            }

            func makeGarden() async throws {
                _ = try await post(0, .modifyZones, ZonesModifyRequest(operations: [.create(LiveServer.garden)]))
            }

            /// The names of all records in the order of their changes.
            func names(on server: Int) async throws -> [String] {
                var names: [String] = []
                var page = ZoneChangesQuery(zoneID: LiveServer.garden)
                while true {
                    let body = try await post(server, .zoneChanges, ZoneChangesRequest(zones: [page]))
                    guard case .changes(let changes) = try ZoneChangesResponse(json: body).zones[0] else {
                        throw WireError(.internalError, "refused")
                    }
                    names += changes.records.map(\.recordName)
                    guard changes.moreComing else { return names }
                    page.syncToken = changes.syncToken
                }
            }

            func end() {
                for server in servers {
                    server.signal(SIGTERM)
                    _ = server.wait()
                }
            }
        }

        @Test func aSaveOnOneServerIsPushedByAnotherServer() async throws {
            let pair = try await Pair()
            defer { pair.end() }
            try await pair.makeGarden()
            let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
            _ = try await pair.post(0, .modifySubscriptions, SubscriptionsModifyRequest(operations: [.create(subscription)]))
            var request = HTTPClientRequest(
                url: "http://127.0.0.1:\(pair.servers[1].port)/device/1/\(LiveServer.container)/development/push/stream")
            request.headers.add(name: "Authorization", value: "Bearer \(pair.tokens[1])")
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            var lines = response.body.makeAsyncIterator()
            #expect(try await lines.next().map { String(buffer: $0) } == "\n")
            // For both ways: by the hint, and by the counter for a change that nobody announces.
            try await pair.save(["a"], on: 0)
            #expect(try await notification(&lines).subscriptionID == "all")
            #expect(try await pair.names(on: 1) == ["a"])
            // The first of these notifications may still be of the announced change, whose counter was compared late; the second is not.
            for _ in 0..<2 {
                try TemporaryPostgres.shared?.sql("UPDATE partitions SET counter = counter + 1 WHERE scope = 'private'", on: pair.database)
                #expect(try await notification(&lines).subscriptionID == "all")
            }
        }

        private func notification(_ lines: inout HTTPClientResponse.Body.AsyncIterator) async throws -> PushNotification {
            while let chunk = try await lines.next() {
                let text = String(buffer: chunk).trimmingCharacters(in: .newlines)
                if !text.isEmpty { return try PushNotification(json: Array(text.utf8)) }
            }
            throw WireError(.internalError, "the stream ended")
        }

        /// Writers at both servers; one server is killed among its commits.
        @Test func aKilledServerKeepsAcknowledgedChanges() async throws {
            let pair = try await Pair()
            defer { pair.end() }
            try await pair.makeGarden()
            let acknowledged = ServerProcessTests.Answered()
            await withTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        for number in 0..<50 {
                            let names = ["\(writer)-\(number)-a", "\(writer)-\(number)-b"]
                            guard (try? await pair.save(names, on: writer % 2)) != nil else { return }
                            if acknowledged.add(names) == 240 { pair.servers[0].signal(SIGKILL) }
                        }
                    }
                }
            }
            let known = acknowledged.names
            #expect(known.count >= 400, "the other server goes on")
            #expect(known.count < 800)
            let seen = try await pair.names(on: 1)
            #expect(Set(seen).count == seen.count, "a record comes once")
            #expect(Set(seen).isSuperset(of: known))
            for name in seen {
                #expect(seen.contains(String(name.dropLast()) + (name.hasSuffix("a") ? "b" : "a")), "a request is whole or not there")
            }
        }

        @Test(arguments: ["secret", "secret%40secret", "secret@secret"])
        func aDatabaseURLIsValidatedAndItsPasswordHidden(_ password: String) async throws {
            let folder = TemporaryFolder()
            let process = Process()
            let errors = Pipe()
            process.executableURL = ServerProcess.tarn
            process.arguments = [
                "serve", "--data", folder.path, "--port", "0", "--database", "postgres://mia:\(password)@127.0.0.1:1/none",
            ]
            process.standardError = errors
            try process.run()
            let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus != 0)
            #expect(text.contains("postgres://mia@127.0.0.1:1/none"), "\(text)")
            #expect(!text.contains("secret"), "\(text)")
        }
    }
#endif
