// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// Errors are one sentence each, with the next step.
@Suite(.closesFixtures, .tags(.slow)) struct BadInputTests {
    @Test func aPortInUseIsNamed() async throws {
        let folder = try Folder()
        let device = try await TestDevice(store: folder.path("first"), in: folder)
        let port = try #require(URL(string: device.remote.address)?.port)
        for (name, arguments) in [
            ("posts", ["--store", folder.path("second"), "--port", "\(port)"]),
            ("tarn", ["serve", "--data", folder.path("server"), "--port", "\(port)"]),
        ] {
            let ended = try await Programs.run(name, arguments, in: folder)
            expectOneSentence(ended, "Port \(port) is in use")
        }
        // The page is at the port before the first device's, which may be another program's by now.
        let demo = try await Programs.run("tarn", ["demo", "--data", folder.path("demo"), "--port", "\(port - 1)"], in: folder)
        expectOneSentence(demo, "is in use")
        await device.stop()
    }

    @Test func anUnknownHostIsNamed() async throws {
        let folder = try Folder()
        let ended = try await Programs.run(
            "tarn", ["serve", "--data", folder.path("server"), "--host", "no-such-host.invalid", "--port", "0"], in: folder)
        expectOneSentence(ended, "The host 'no-such-host.invalid' is unknown")
    }

    @Test func aDataFolderThatCannotBeMadeIsNamed() async throws {
        let folder = try Folder()
        let impossible = try folder.pathNobodyCanMake()
        for (name, arguments) in [
            ("posts", ["--port", "0", "--store", impossible]),
            ("tarn", ["serve", "--port", "0", "--data", impossible]),
            ("tarn", ["demo", "--port", "0", "--data", impossible]),
            ("tarn", ["demo", "--check", "--data", impossible]),
            ("tarn", ["user", "add", "mia", "--data", impossible]),
        ] {
            let ended = try await Programs.run(name, arguments, in: folder)
            expectOneSentence(ended, impossible)
        }
    }

    @Test func anOutputThatCannotBeWrittenIsAnError() async throws {
        let folder = try Folder()
        let log = folder.url.appendingPathComponent("complaint.log")
        let tarn = Programs.folder.appendingPathComponent("tarn").path
        let child = try ChildProcess(
            "tarn", program: URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "exec \"$0\" openapi > /dev/full", tarn], log: log)
        #expect(await child.ended() == 1)
        let complaint = try String(contentsOf: log, encoding: .utf8)
        #expect(complaint == "Error: standard output cannot be written: make room, or choose another place.\n")
    }

    @Test func aCorruptStoreIsNamedAndLeftAsItIs() async throws {
        let folder = try Folder()
        let store = folder.url.appendingPathComponent("store")
        try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
        let file = store.appendingPathComponent("Posts.sqlite")
        let broken = Data("This is no database, though it is long enough to be taken for one.".utf8) + Data(repeating: 7, count: 8192)
        try broken.write(to: file)
        expectOneSentence(try await Programs.run("posts", ["--port", "0", "--store", store.path], in: folder), "Posts.sqlite")
        #expect(try Data(contentsOf: file) == broken)
    }

    @Test func anAddressThatIsNoneIsNamed() async throws {
        let folder = try Folder()
        let ended = try await Programs.run(
            "posts", ["--port", "0", "--store", folder.path("store"), "--server", "cloud"], in: folder)
        expectOneSentence(ended, "'cloud' isn't the address of a server")
        let mirrored = try await Programs.run("posts", ["--port", "0", "--store", folder.path("mirrored"), "--mirror"], in: folder)
        expectOneSentence(mirrored, "A mirror needs a server: set TARN_SERVER to its address")
    }

    @Test func aModelThatIsNotThereIsNamed() async throws {
        let container = NSPersistentCloudKitContainer(name: "Pots")
        var sentences: [String] = []
        container.loadPersistentStores { _, error in sentences.append(error?.localizedDescription ?? "no error") }
        #expect(sentences.count == 1)
        #expect(sentences.first?.hasPrefix("No model is named 'Pots'") == true)
    }

    // MARK: The local app works on

    @Test func withoutAServerThatAnswersTheAppWorksOnAndSaysThatItIsOffline() async throws {
        let folder = try Folder()
        // Port 1 has no listener.
        let environment = ["TARN_SERVER": "http://127.0.0.1:1", "TARN_TOKEN": "a-token"]
        let device = try await TestDevice(store: folder.path("store"), in: folder, environment: environment)
        try await device.waits(for: "the device says that it is offline") { $0.sync.phase == "offline" }
        try await expectKeepsWhatIsSaved(device, folder, environment)
    }

    @Test(arguments: [["TARN_TOKEN": "a-token-nobody-got"], [:]])
    func withoutAGoodTokenTheAppWorksOnAndSaysWhy(_ credentials: [String: String]) async throws {
        let folder = try Folder()
        let server = try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["serve", "--data", folder.path("server"), "--port", "0", "--exit-with-parent"],
            log: URL(fileURLWithPath: folder.path("server.log"))
        ).stoppedWithTest()
        let environment = credentials.merging(["TARN_SERVER": try await server.line(after: "tarn: listening on ")]) { $1 }
        let device = try await TestDevice(store: folder.path("store"), in: folder, environment: environment)
        try await device.waits(for: "the device says what is wrong with its account") { view in
            view.sync.phase == "error" && view.sync.reason?.isEmpty == false
        }
        try await expectKeepsWhatIsSaved(device, folder, environment)
        await server.stop()
    }

    private func expectKeepsWhatIsSaved(_ device: TestDevice, _ folder: Folder, _ environment: [String: String]) async throws {
        _ = try await device.remote.addPost("Kept", content: "Without a server")
        try await device.waits(for: "the post is shown") { $0.posts(titled: "Kept").count == 1 }
        await device.stop()
        let again = try await TestDevice(store: folder.path("store"), in: folder, environment: environment)
        try await again.waits(for: "the post is still there") { $0.posts(titled: "Kept").count == 1 }
        await again.stop()
    }

    private func expectOneSentence(_ ended: Programs.Ended, _ part: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(ended.status == 1, sourceLocation: sourceLocation)
        #expect(ended.output == "", sourceLocation: sourceLocation)
        let lines = ended.complaint.split(separator: "\n")
        // The server's log goes to standard error, too; the sentence comes last.
        #expect(lines.last?.contains(part) == true, "\(ended.complaint)", sourceLocation: sourceLocation)
    }
}
