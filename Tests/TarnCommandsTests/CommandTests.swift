// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import AsyncHTTPClient
import CloudEngine
import CloudEngineSQLite
import CloudInProcess
import CloudService
import CloudWire
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Testing

@testable import TarnCommands

@Suite struct CommandTests {
    /// The sentence a command failed with, or nil.
    private func run<Command: AsyncParsableCommand>(_ type: Command.Type, _ arguments: String...) async -> String? {
        do {
            var command = try Command.parse(arguments)
            try await command.run()
            return nil
        } catch {
            return Command.message(for: error)
        }
    }

    @Test func usersAreMadeWithAndWithoutARunningServer() async throws {
        let folder = ScratchFolder("tarn-commands")
        let path = folder.path
        #expect(await run(UserCommand.Add.self, "mia", "--data", path) == nil)
        let store = try SQLiteServerStore(path: path, use: .server)
        #expect(await run(UserCommand.Add.self, "bo", "--data", path, "--device", "laptop") == nil)
        #expect(await run(UserCommand.Token.self, "mia", "--data", path, "--device", "phone") == nil)
        #expect(await run(UserCommand.List.self, "--data", path) == nil)
        #expect(
            try await store.users() == [
                Account(name: "bo", devices: ["laptop"]), Account(name: "mia", devices: ["first device", "phone"]),
            ])
        try store.close()
    }

    @Test func eachFailureIsOneSentenceThatSaysWhatToDo() async throws {
        let folder = ScratchFolder("tarn-commands")
        let path = folder.path
        #expect(await run(UserCommand.List.self, "--data", path)?.contains("name the data folder with --data") == true)
        #expect(await run(UserCommand.Add.self, "no space", "--data", path)?.contains(AccountName.rule) == true)
        #expect(await run(UserCommand.Add.self, "mia", "--data", path) == nil)
        #expect(await run(UserCommand.Add.self, "mia", "--data", path)?.contains("tarn user token mia") == true)
        #expect(await run(UserCommand.Token.self, "bo", "--data", path)?.contains("The user bo does not exist") == true)
        #expect(await run(ServeCommand.self, "--port", "70000")?.contains("0 to 65535") == true)
        #expect(await run(ServeCommand.self, "--data", "/dev/null/x")?.contains("write permission") == true)
        for code in StorageFailure.Code.allCases {
            let sentence = CommandError(StorageFailure(code, "cause"), data: path, name: "mia").description
            #expect(sentence.hasSuffix("."), "\(code)")
            #expect(!sentence.dropLast().contains("\n"), "\(code)")
        }
    }

    @Test func aCopyThatCannotBeMadeIsSaidOfTheCopy() async throws {
        let folder = ScratchFolder("tarn-commands")
        let copy = ScratchFolder("tarn-commands")
        #expect(await run(UserCommand.Add.self, "mia", "--data", folder.path) == nil)
        let nowhere = await run(BackupCommand.self, "--data", folder.path, "--output", "/dev/null/copy")
        #expect(nowhere?.contains("/dev/null/copy") == true)
        #expect(nowhere?.contains("--output") == true)
        // Something else than a copy that was broken off.
        let taken = "\(copy.path)/new"
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        try Data("somebody's".utf8).write(to: URL(filePath: "\(taken).partial"))
        let refused = await run(BackupCommand.self, "--data", folder.path, "--output", taken)
        #expect(refused?.contains("\(taken).partial already") == true, "\(refused ?? "")")
        #expect(refused?.contains("--output") == true, "\(refused ?? "")")
    }

    @Test func aFolderThatIsInUseIsNotRestoredFrom() async throws {
        let (live, target) = (ScratchFolder("tarn-commands"), ScratchFolder("tarn-commands"))
        let store = try SQLiteServerStore(path: live.path, use: .server)
        let refused = await run(RestoreCommand.self, "--from", live.path, "--data", target.path)
        #expect(refused?.contains("uses the folder \(live.path)") == true, "\(refused ?? "nil")")
        #expect(refused?.contains(target.path) == false, "\(refused ?? "nil")")
        try store.close()
        try Data("no database, and long enough to be looked at as one".utf8).write(to: URL(filePath: live.path + "/tarn.sqlite"))
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: live.path + "/tarn.sqlite" + suffix) }
        let damaged = await run(RestoreCommand.self, "--from", live.path, "--data", target.path)
        #expect(damaged?.contains("The database in \(live.path) is damaged") == true, "\(damaged ?? "nil")")
        #expect(!FileManager.default.fileExists(atPath: target.path))
    }

    @Test func addressesOfPeopleAreChecked() async throws {
        let folder = ScratchFolder("tarn-commands")
        for name in ["mia", "bo"] { #expect(await run(UserCommand.Add.self, name, "--data", folder.path) == nil) }
        let emails = [
            "mia", "mia@", "@example.org", "mia@@example.org", "mia@example..org", "mia @example.org", "mia@exam ple.org", "mia@-x.org",
        ]
        for email in emails {
            let refused = await run(UserCommand.Profile.self, "mia", "--data", folder.path, "--email", email)
            #expect(refused?.contains("NAME@HOST") == true, "\(email)")
        }
        for phone in ["call me", "12", "1234567890123456", "+49 (0) 30;1"] {
            let refused = await run(UserCommand.Profile.self, "mia", "--data", folder.path, "--phone", phone)
            #expect(refused?.contains("3 to 15 digits") == true, "\(phone)")
        }
        let valid = ["--email", "Mia.O'Neil+a@mail.example.org", "--phone", "+49 (30) 123-456"]
        #expect(await run(UserCommand.Profile.self, "mia", "--data", folder.path, valid[0], valid[1], valid[2], valid[3]) == nil)
        #expect(await run(UserCommand.Profile.self, "mia", "--data", folder.path, "--email", "müa@grün.example") == nil)
        let taken = await run(UserCommand.Profile.self, "bo", "--data", folder.path, "--email", "MÜA@grün.example")
        #expect(taken?.contains("Another user has this email address") == true, "\(taken ?? "nil")")
        #expect(await run(UserCommand.Profile.self, "mia", "--data", folder.path, "--email", "", "--phone", "") == nil)
        #expect(await run(UserCommand.Profile.self, "bo", "--data", folder.path, "--email", "müa@grün.example") == nil)
    }

    @Test func aServerOffersWhatItsOperatorDoes() async throws {
        let folder = ScratchFolder("tarn-commands")
        let (ports, told) = AsyncStream.makeStream(of: Int.self)
        let settings = try ServeCommand.parse(["--without", "model-extensions"]).settings(environment: [:])
        let server = try LocalServer(
            data: folder.path, host: "127.0.0.1", port: 0, offered: settings.offered,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run(endsOnSignals: false) { told.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/health")
        request.headers.add(name: HeaderNames.capabilities, value: "model-extensions,quota")
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(120))
        #expect(answer.headers.first(name: HeaderNames.capabilities) == "quota")
        running.cancel()
        _ = await running.result
    }

    @Test func aServerTellsItsPortAndASecondOneIsToldThatItIsTaken() async throws {
        let (first, second) = (ScratchFolder("tarn-commands"), ScratchFolder("tarn-commands"))
        let (ports, told) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = try LocalServer(data: first.path, host: "127.0.0.1", port: 0, logger: logger)
        let running = Task { try await server.run(endsOnSignals: false) { told.yield($0) } }
        var port = 0
        for await number in ports {
            port = number
            break
        }
        #expect(port > 0)
        let health = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(port)/health"), timeout: .seconds(120))
        #expect(health.status.code == 200)

        let rival = try LocalServer(data: second.path, host: "127.0.0.1", port: port, logger: logger)
        let refused = await #expect(throws: CommandError.self) { try await rival.run(endsOnSignals: false) { _ in } }
        #expect(refused?.description.contains("Port \(port) is in use") == true)
        #expect(throws: StorageFailure.self) {
            try LocalServer(data: first.path, host: "127.0.0.1", port: 0, logger: logger)
        }
        running.cancel()
        _ = await running.result
    }
}
