// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A server and two devices, as processes of their own, with one account.
///
/// One folder contains all data: `server/`, a store for each device, their tokens, and logs.
actor DemoCast {
    enum Device: String, CaseIterable, Sendable { case iPad, iPhone }

    struct Ports: Sendable {
        var server = 0
        var devices: [Device: Int] = [:]
    }

    /// Timeout of a start. Opening a store or a database takes milliseconds, but the machine may be busy.
    private static let startWithin = Duration.seconds(60)

    private let folder: URL
    private let programs: URL
    private var ports: Ports
    private var server: ChildProcess?
    private var devices: [Device: ChildProcess] = [:]
    private(set) var serverAddress = ""

    /// - Parameter ports: 0 means an ephemeral port; a restarted process keeps its port.
    /// - Throws: ``CommandError`` if the folder cannot be used.
    init(folder: URL, ports: Ports) throws {
        self.folder = folder
        self.ports = ports
        programs = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("logs"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(
                "The data folder \(folder.path) cannot be made or written to: choose another with --data, or give yourself write permission.")
        }
    }

    // MARK: Starting

    /// - Returns: The server's URL.
    @discardableResult func startServer() async throws -> String {
        let child = try tarn(["serve", "--data", path("server"), "--port", "\(ports.server)", "--exit-with-parent"], "server")
        server = child
        serverAddress = try await ready(child, "tarn: listening on ")
        ports.server = URL(string: serverAddress)?.port ?? ports.server
        return serverAddress
    }

    /// - Returns: The address of the device's page.
    @discardableResult func start(_ device: Device) async throws -> String {
        let child = try ChildProcess(
            device.rawValue, program: programs.appendingPathComponent("posts"),
            arguments: [
                "--name", device.rawValue, "--store", path(device.rawValue), "--port", "\(ports.devices[device] ?? 0)",
                "--exit-with-parent",
            ],
            environment: ["TARN_SERVER": serverAddress, "TARN_TOKEN": try await token(for: device)], log: log(device.rawValue))
        devices[device] = child
        let address = try await ready(child, "posts: \(device.rawValue) at ")
        ports.devices[device] = URL(string: address)?.port ?? 0
        return address
    }

    private func ready(_ child: ChildProcess, _ prefix: String) async throws -> String {
        try await within(Self.startWithin, "\(child.name) did not start within \(Self.startWithin.components.seconds) s.") {
            try await child.line(after: prefix)
        }
    }

    private func tarn(_ arguments: [String], _ name: String) throws -> ChildProcess {
        try ChildProcess(name, program: programs.appendingPathComponent("tarn"), arguments: arguments, log: log(name))
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    private func log(_ name: String) -> URL { folder.appendingPathComponent("logs/\(name).log") }

    // MARK: The account

    /// The device's token, made once: the server prints it only then.
    private func token(for device: Device) async throws -> String {
        let file = folder.appendingPathComponent("\(device.rawValue).token")
        if let token = try? String(contentsOf: file, encoding: .utf8) { return token }
        let hasAccount = Device.allCases.contains {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent("\($0.rawValue).token").path)
        }
        let printed = try await tarn(
            ["user", hasAccount ? "token" : "add", "demo", "--device", device.rawValue, "--data", path("server")], "account"
        ).result()
        let token = printed.trimmingCharacters(in: .whitespacesAndNewlines)
        guard
            FileManager.default.createFile(atPath: file.path, contents: Data(token.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError("The file \(file.path) cannot be written: check its folder's permissions and the disk.") }
        return token
    }

    // MARK: The end

    func crashServer() async { await server?.crash() }
    func crash(_ device: Device) async { await devices[device]?.crash() }

    /// Ends the devices first, so that they don't lose the server.
    func stop() async {
        await withDiscardingTaskGroup { group in
            for child in devices.values { group.addTask { await child.stop() } }
        }
        await server?.stop()
    }

    /// Waits until one of the processes ends by itself.
    ///
    /// - Returns: A sentence about it; nil if the task was cancelled.
    func firstToEnd() async -> String? {
        let children = [server].compactMap { $0 } + devices.values
        let (names, continuation) = AsyncStream.makeStream(of: String.self)
        for child in children {
            Task {
                _ = await child.ended()
                continuation.yield(child.name)
            }
        }
        for await name in names { return "\(name) has ended; its log is \(log(name).path)" }
        return nil
    }
}

/// Runs `body`, and throws ``CommandError`` with `sentence` if it takes longer than `limit`.
func within<Value: Sendable>(
    _ limit: Duration, _ sentence: @autoclosure @escaping @Sendable () -> String, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(operation: body)
        group.addTask {
            try await Task.sleep(for: limit)
            throw CommandError(sentence())
        }
        guard let first = try await group.next() else { throw CancellationError() }
        group.cancelAll()
        return first
    }
}
