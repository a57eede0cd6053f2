// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import TestBasics
import Testing

@testable import TarnCommands

extension Tag {
    /// Longer than two seconds: real processes.
    @Tag static var slow: Self
}

/// The programs of this package, run as a user runs them. They are in the folder of the test bundle.
enum Programs {
    static let folder = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])).resolvingSymlinksInPath()
        .deletingLastPathComponent()

    struct Ended {
        var status: Int32
        var output: String
        var complaint: String
    }

    /// Runs a program that is expected to end by itself within the limit.
    static func run(_ name: String, _ arguments: [String], in folder: Folder, atMost limit: Duration = .seconds(60)) async throws -> Ended {
        let log = folder.url.appendingPathComponent("complaint-\(UUID().uuidString).log")
        let child = try ChildProcess(name, program: Self.folder.appendingPathComponent(name), arguments: arguments, log: log)
        return try await within(limit, "\(name) \(arguments) did not end within \(limit)") {
            let output = await child.everything()
            return Ended(status: await child.ended(), output: output, complaint: (try? String(contentsOf: log, encoding: .utf8)) ?? "")
        }
    }

    /// The first line that a command of tarn prints.
    @discardableResult
    static func tarn(_ arguments: [String], in folder: Folder) async throws -> String {
        let ended = try await run("tarn", arguments, in: folder)
        try #require(ended.status == 0, "\(arguments.prefix(2)): \(ended.complaint)")
        return ended.output.split(separator: "\n").first.map(String.init) ?? ""
    }

    /// Sets mia's password on the server with that data.
    static func setPassword(_ password: String, _ data: String, in folder: Folder) async throws {
        let tarn = Self.folder.appendingPathComponent("tarn").path
        let child = try ChildProcess(
            "sh", program: URL(fileURLWithPath: "/bin/sh"),
            arguments: ["-c", #"printf '%s\n' "$2" | "$1" user password mia --data "$3""#, "sh", tarn, password, data],
            log: URL(fileURLWithPath: folder.path("password.log")))
        _ = await child.everything()
        try #require(await child.ended() == 0, "the password could not be set")
    }
}

extension ChildProcess {
    /// The same program, which ends with the test, also if the test throws.
    func stoppedWithTest() -> ChildProcess {
        TestScope.close(self) {
            await self.stop()
            return []
        }
        return self
    }
}

/// A folder that goes with the test.
final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-end-to-end-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// A path below a file: even root cannot create a folder there.
    func pathNobodyCanMake() throws -> String {
        try Data("not a folder".utf8).write(to: url.appendingPathComponent("file"))
        return path("file/data")
    }
}

/// One device process, followed by its events.
struct TestDevice {
    let remote: DeviceRemote
    let watch = DeviceWatch()
    private let child: ChildProcess

    init(store: String, in folder: Folder, environment: [String: String] = [:]) async throws {
        child = try ChildProcess(
            "posts", program: Programs.folder.appendingPathComponent("posts"),
            arguments: ["--name", "iPad", "--store", store, "--port", "0", "--exit-with-parent"], environment: environment,
            log: URL(fileURLWithPath: folder.path("posts.log"))
        ).stoppedWithTest()
        let child = child
        let address = try await within(.seconds(60), "posts did not start") { try await child.line(after: "posts: iPad at ") }
        remote = DeviceRemote(name: "iPad", address: address)
        await watch.follow(.iPad, at: address)
    }

    /// Waits until the device shows the expected posts.
    func waits(for what: String, until isReached: @escaping @Sendable (DeviceView) -> Bool) async throws {
        try await watch.wait(for: what, atMost: .seconds(60)) { $0[.iPad].map(isReached) ?? false }
    }

    func stop() async { await child.stop() }
}
