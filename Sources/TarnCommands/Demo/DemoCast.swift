// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A server and two devices, as processes of their own, with one account.
///
/// One folder contains all data: `server/`, a store for each device, their tokens, and logs.
actor DemoCast {
    enum Device: String, CaseIterable, Codable, Sendable {
        case iPad, iPhone
        /// A third device, which starts when a person asks for it.
        case guest = "Guest"
        /// The device of a second user, likewise.
        case ben = "Ben"
        /// A device with version 2 of the app and other attributes, likewise.
        case tablet = "Tablet"
        /// A device that syncs by `TarnMirror`, likewise.
        case mirror = "Mirror"

        /// The devices that are always there.
        static let pair: [Device] = [.iPad, .iPhone]

        /// Options of `posts` for this device.
        var options: [String] {
            switch self {
            case .tablet: ["--app-version", "2"]
            case .mirror: ["--mirror"]
            case .iPad, .iPhone, .guest, .ben: []
            }
        }

        /// The name of its account on the server.
        var account: String { self == .ben ? "ben" : "demo" }
    }

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
    /// Where the guest's page can be opened: an address of the local network, with the key of its link.
    private let guestPlace: GuestPlace?
    private let onServerLog: (@Sendable (Data) -> Void)?

    /// - Parameters:
    ///   - ports: 0 means an ephemeral port; a restarted process keeps its port.
    ///   - guestPlace: nil for a guest on this machine.
    ///   - onServerLog: Receives the server's log, one JSON object per line.
    /// - Throws: ``CommandError`` if the folder cannot be used.
    init(folder: URL, ports: Ports, guestPlace: GuestPlace? = nil, onServerLog: (@Sendable (Data) -> Void)? = nil) throws {
        self.guestPlace = guestPlace
        self.onServerLog = onServerLog
        self.folder = folder
        self.ports = ports
        programs = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("logs"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandError(
                "The data folder \(folder.path) cannot be made or written to: choose another with --data, or give yourself write permission."
            )
        }
    }

    // MARK: Starting

    /// - Returns: The server's URL.
    @discardableResult func startServer() async throws -> String {
        let logged = onServerLog == nil ? [] : ["--log-format", "json", "--log-level", "info"]
        let child = try ChildProcess(
            "server", program: programs.appendingPathComponent("tarn"),
            arguments: ["serve", "--data", path("server"), "--port", "\(ports.server)", "--exit-with-parent"] + logged, log: log("server"),
            onErrors: onServerLog)
        server = child
        serverAddress = try await ready(child, "tarn: listening on ")
        ports.server = URL(string: serverAddress)?.port ?? ports.server
        return serverAddress
    }

    /// - Returns: The address of the device's page.
    @discardableResult func start(_ device: Device) async throws -> String {
        let place = device == .guest ? guestPlace : nil
        var environment = ["TARN_SERVER": serverAddress, "TARN_TOKEN": try await token(for: device)]
        if let place { environment["POSTS_KEY"] = place.key }
        let child = try ChildProcess(
            device.rawValue, program: programs.appendingPathComponent("posts"),
            arguments: [
                "--name", device.rawValue, "--store", path(device.rawValue), "--port", "\(ports.devices[device] ?? 0)",
                "--exit-with-parent",
            ] + device.options + (place.map { ["--host", $0.address] } ?? []),
            environment: environment, log: log(device.rawValue))
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

    func processID(of device: Device) -> Int32? { devices[device]?.processID }
    var serverProcessID: Int32? { server?.processID }

    /// Waits until a device's present process ends.
    func ended(_ device: Device) async { _ = await devices[device]?.ended() }
    func serverEnded() async { _ = await server?.ended() }

    // MARK: The account

    /// The password of the demo's account on the console; made with it, and kept in a file of its owner.
    func operatorPassword() async throws -> String {
        let file = folder.appendingPathComponent("operator.password")
        if let password = try? String(contentsOf: file, encoding: .utf8) { return password }
        _ = try await tarn(["user", "profile", "demo", "--operator", "--data", path("server")], "account").result()
        let password = DemoSecret.make()
        let setting = try tarn(["user", "password", "demo", "--data", path("server")], "account")
        setting.finish(writing: password)
        _ = try await setting.result()
        try store(password, in: file)
        return password
    }

    private func store(_ secret: String, in file: URL) throws {
        guard FileManager.default.createFile(atPath: file.path, contents: Data(secret.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError("The file \(file.path) cannot be written: check its folder's permissions and the disk.") }
    }

    /// The device's token, made once: the server prints it only then.
    private func token(for device: Device) async throws -> String {
        let file = folder.appendingPathComponent("\(device.rawValue).token")
        if let token = try? String(contentsOf: file, encoding: .utf8) { return token }
        let hasAccount = Device.allCases.contains {
            $0.account == device.account
                && FileManager.default.fileExists(atPath: folder.appendingPathComponent("\($0.rawValue).token").path)
        }
        let printed = try await tarn(
            ["user", hasAccount ? "token" : "add", device.account, "--device", device.rawValue, "--data", path("server")], "account"
        ).result()
        let token = printed.trimmingCharacters(in: .whitespacesAndNewlines)
        try store(token, in: file)
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
