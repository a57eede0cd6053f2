// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Foundation
import Logging
import TestBasics
import Testing

@testable import TarnCommands

/// Commands on another machine, with an operator's key.
@Suite(.serialized) struct RemoteCommandTests {
    private static let container = "iCloud.org.example.notes"

    /// A running server and the key of the operator `mia`.
    private final class Server {
        let folder: TemporaryFolder
        let address: String
        let keyFile: String
        private let running: Task<Void, any Error>

        init() async throws {
            let folder = TemporaryFolder()
            self.folder = folder
            let data = folder.path
            for arguments in [["user", "add", "mia"], ["user", "profile", "mia", "--operator"]] {
                #expect(await CommandRun(arguments + ["--data", data]).status == 0)
            }
            let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
            let server = try LocalServer(
                data: data, host: "127.0.0.1", port: 0, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            running = Task { _ = try await server.run(endsOnSignals: false) { continuation.yield($0) } }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            address = "http://127.0.0.1:\(port)"
            let path = data + "/operator.key"
            keyFile = path
            let key = await CommandRun("user", "operator-key", "mia", "--data", data)
            try Self.write(key.output, to: path)
        }

        static func write(_ key: String, to path: String) throws {
            try #require(
                FileManager.default.createFile(atPath: path, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600]))
        }

        func run(_ arguments: String...) async -> CommandRun {
            await CommandRun(arguments + ["--server", address, "--key-file", keyFile])
        }

        /// In the data folder.
        func runThere(_ arguments: String...) async -> CommandRun { await CommandRun(arguments + ["--data", folder.path]) }

        func stop() async {
            running.cancel()
            _ = await running.result
        }
    }

    @Test func accountsAreAdministered() async throws {
        let server = try await Server()
        let added = await server.run("user", "add", "bo", "--device", "phone")
        #expect(added.output.hasPrefix("tarn_"), "\(added.notes)")
        let again = await server.run("user", "add", "bo")
        #expect(again.notes == "Error: \(server.address): A user named bo exists: choose another name.\n")
        let (there, here) = (await server.runThere("user", "list", "--json"), await server.run("user", "list", "--json"))
        #expect(here.output == there.output)
        #expect(here.output.contains(#"{"name":"bo","devices":["phone"]}"#))
        #expect(await server.run("user", "quota", "bo", "500MB").status == 0)
        #expect(await server.run("user", "sessions", "bo", "--json").output.contains(#""label":"phone""#))
        #expect(await server.run("user", "revoke", "bo", "--device", "phone").status == 0)
        #expect(await server.run("user", "sign-out", "bo").status == 0)
        #expect(await server.runThere("user", "sessions", "bo", "--json").output.isEmpty)
        let unknown = await server.run("user", "quota", "boo", "1MB")
        #expect(unknown.notes.contains("The user boo does not exist"), "\(unknown.notes)")
        let removed = await server.run("user", "remove", "bo", "--public-records", "keep", "--yes", "--json")
        #expect(removed.output.contains(#""name":"bo""#), "\(removed.notes)")
        let nameless = await server.run("user", "remove", "boo", "--public-records", "keep", "--yes")
        #expect(nameless.status == 1)
        #expect(nameless.notes.contains("The user boo does not exist"), "\(nameless.notes)")
        let own = await server.run("user", "remove", "mia", "--public-records", "keep", "--yes")
        #expect(own.notes.contains("The account mia is an operator's: run"), "\(own.notes)")
        let audit = await server.runThere("audit", "--json").output
        for action in ["user.add", "user.list", "user.quota", "user.sessions", "user.revoke", "user.sign-out", "user.remove"] {
            #expect(audit.contains(#""actor":"mia","network":"127.0.0.1","action":"console.api.\#(action)""#), "\(action)")
        }
        await server.stop()
    }

    @Test func schemasTokensAndZonesAreAdministered() async throws {
        let server = try await Server()
        let (place, schema) = (["--container", Self.container], server.folder.path + "/notes.ckdb")
        try Data("DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);".utf8).write(to: URL(filePath: schema))
        func run(_ arguments: String...) async -> CommandRun {
            await CommandRun(arguments + place + ["--server", server.address, "--key-file", server.keyFile])
        }
        #expect(await run("schema", "validate", "--file", schema).output.contains("+ type Note"))
        #expect(await run("schema", "import", "--file", schema).status == 0)
        #expect(await run("schema", "diff").output.contains("+ type Note"))
        #expect(await run("schema", "deploy").status == 0)
        #expect(await run("schema", "export", "--environment", "production").output.contains("RECORD TYPE Note"))
        let model = server.folder.path + "/Notes.xcdatamodeld"
        #expect(await CommandRun("model", "new", model, "--entity", "Note", "--cloud", "title:String").status == 0)
        let check = await run("schema", "check", model, "--against", "production")
        #expect(check.status == 1, "\(check.notes)")
        #expect(check.output.contains("+ type CD_Note is not in production"))
        try Data("DEFINE SCHEMA RECORD TYPE Page (title STRING);".utf8).write(to: URL(filePath: schema))
        let smaller = await run("schema", "import", "--file", schema)
        #expect(smaller.notes.contains("Refused:\n  record type 'Note' is in production and cannot be removed"), "\(smaller.notes)")

        let token = await run("token", "add", "--label", "site")
        #expect(token.status == 0, "\(token.notes)")
        let (here, there) = (await server.run("token", "list", "--json"), await server.runThere("token", "list", "--json"))
        #expect(here.output == there.output)
        #expect(await server.run("token", "remove", "1").status == 0)
        #expect(await server.run("token", "list", "--json").output.isEmpty)
        let zones = await run("zone", "list", "--user", "mia")
        #expect(zones.notes == "mia has no custom zones in \(Self.container), development.\n")
        #expect(await run("zone", "create", "Notes", "--user", "mia").output == "Notes: created\n")
        #expect(await run("zone", "create", "Notes", "--user", "mia").output == "Notes: exists already\n")
        #expect(await run("zone", "list", "--user", "mia").output.contains("Notes"))
        let unknown = await server.run("schema", "deploy", "--container", "a.b")
        #expect(unknown.notes.contains("The server has no container a.b. It has \(Self.container)."), "\(unknown.notes)")
        await server.stop()
    }

    @Test func namesThatTheServerLacksAreErrors() async throws {
        let server = try await Server()
        func run(_ arguments: String...) async -> CommandRun {
            await CommandRun(arguments + ["--container", Self.container, "--server", server.address, "--key-file", server.keyFile])
        }
        #expect(await run("record", "put", "n1", "title=Milk", "--type", "Note").status == 0)
        let commands = [
            ["record", "query", "Note"], ["record", "export"], ["record", "get", "n1"], ["record", "delete", "n1", "--yes"],
        ]
        for arguments in commands {
            let unknown = await CommandRun(
                arguments + ["--container", "iCloud.org.exmple.notes", "--server", server.address, "--key-file", server.keyFile])
            #expect(unknown.status == 1)
            let error = "Error: \(server.address): The server has no container iCloud.org.exmple.notes. It has \(Self.container). "
            #expect(unknown.notes == error + "Did you mean '\(Self.container)'?\n")
        }
        let type = await run("record", "query", "Nots")
        #expect(type.status == 1)
        #expect(type.notes.contains("The record type Nots does not exist"), "\(type.notes)")
        #expect(type.notes.contains("It has Note. Did you mean 'Note'?"), "\(type.notes)")
        let types = await run("record", "export", "--type", "Note", "--type", "Nots")
        #expect(types.output.isEmpty)
        #expect(types.notes.contains("The record type Nots does not exist"), "\(types.notes)")
        let zone = await run("record", "export", "--database", "private", "--zone", "Nots")
        #expect(zone.status == 1)
        #expect(zone.notes.contains("The zone Nots does not exist in the private database, "), "\(zone.notes)")
        let field = await run("record", "query", "Note", "--fields", "titel")
        #expect(field.notes == "Error: The record type Note has no field 'titel'. It has title. Did you mean 'title'?\n")
        #expect(await run("record", "delete", "n1", "--yes").status == 0)
        let empty = await run("record", "query", "Note")
        #expect(empty.status == 0, "\(empty.notes)")
        #expect(empty.notes.hasPrefix("No records of type Note"), "\(empty.notes)")
        await server.stop()
    }

    @Test func otherKeysAreRefused() async throws {
        let server = try await Server()
        let other = server.folder.path + "/other.key"
        let token = await server.runThere("user", "add", "bo")
        for secret in ["wrong", token.output] {
            try Server.write(secret, to: other)
            let refused = await CommandRun("user", "list", "--server", server.address, "--key-file", other)
            #expect(refused.status == 1)
            #expect(refused.notes.contains("does not accept the operator's key"), "\(refused.notes)")
        }
        #expect(await server.runThere("user", "profile", "mia", "--no-operator").status == 0)
        #expect(await server.run("user", "list").status == 1)
        #expect(await server.runThere("user", "profile", "mia", "--operator").status == 0)
        #expect(await server.runThere("user", "sign-out", "mia").status == 0)
        let ended = await server.run("user", "add", "eve")
        #expect(ended.notes.contains("does not accept the operator's key"), "\(ended.notes)")
        let users = await server.runThere("user", "list")
        #expect(!users.output.contains("eve"))
        let audit = await server.runThere("audit", "--json")
        #expect(audit.output.contains(#""action":"console.api.key","subject":"unknown key","outcome":"refused""#))
        await server.stop()
    }

    @Test func optionsThatExcludeEachOtherAreRejected() async {
        for arguments in [
            ["--key-file", "x"], ["--server", "https://a.example", "--database", "postgres://u@h/d"], ["--server", "cloud"],
        ] {
            #expect(await CommandRun(["user", "list"] + arguments).status == 64, "\(arguments)")
        }
    }
}
