// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Glibc

/// `tarn serve` under limits of the system, which is killed and started again.
final class StressServer {
    static let container = "iCloud.org.example.stress"

    private(set) var program: Program?
    let port: Int
    let folder: URL
    private let tarn: String
    private let arguments: [String]
    /// Commands of a shell before the server: `ulimit -d 1048576`.
    var shellLimits: [String] = []
    var environment: [String: String] = [:]

    /// - Parameters:
    ///   - tarn: Path of the executable.
    ///   - folder: Data folder, created by this initializer.
    init(tarn: String, folder: URL, arguments: [String] = []) throws {
        self.tarn = tarn
        self.folder = folder
        self.arguments = arguments
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        port = try Self.freePort()
    }

    private var log: URL { folder.deletingLastPathComponent().appendingPathComponent("\(folder.lastPathComponent).log") }

    /// Starts the server and waits until it listens.
    func start() throws {
        let words = [tarn, "serve", "--data", folder.path, "--port", "\(port)", "--log-level", "error", "--exit-with-parent"] + arguments
        let command = (shellLimits + ["exec " + words.map { "'\($0)'" }.joined(separator: " ")]).joined(separator: "; ")
        let program = try Program("/bin/sh", ["-c", command], environment: environment, log: log)
        _ = try program.line()
        self.program = program
    }

    /// Ends the server without a warning, as a power failure does.
    func kill9() {
        guard let program, let id = pid_t(program.id) else { return }
        kill(id, SIGKILL)
        self.program = nil
    }

    func stop() {
        program?.stop()
        program = nil
    }

    /// Whether the process runs. A process that ended and was not waited for does not.
    var isAlive: Bool {
        guard let program, let text = try? String(contentsOfFile: "/proc/\(program.id)/stat", encoding: .utf8) else { return false }
        return text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).first != "Z"
    }

    /// Bytes.
    var residentMemory: Double { program.map { Program.memory("VmRSS", of: $0.id) } ?? .nan }
    var peakMemory: Double { program.map { Program.memory("VmHWM", of: $0.id) } ?? .nan }

    var processorSeconds: Double { program.map { Program.processorSeconds(of: $0.id) } ?? .nan }

    func forgetPeak() { if let program { Program.forgetPeak(of: program.id) } }

    var descriptors: Int { program.flatMap { try? FileManager.default.contentsOfDirectory(atPath: "/proc/\($0.id)/fd").count } ?? 0 }

    /// - Returns: The token of a device of a new user.
    func newUser(_ name: String) throws -> String {
        let program = try Program(tarn, ["user", "add", name, "--data", folder.path], log: log)
        guard let token = try program.lines().last else { throw Program.Failure(description: "no token for \(name)") }
        return token
    }

    static func request(_ operation: String, _ body: String, token: String?, scope: String = "private", headers: [String] = []) -> [UInt8] {
        HTTPLoad.request(
            body.isEmpty ? "GET" : "POST", path(operation, scope: scope),
            headers: headers + (token.map { ["Authorization: Bearer \($0)"] } ?? []), body: Array(body.utf8))
    }

    static func path(_ operation: String, scope: String = "private") -> String {
        "/database/1/\(container)/development/\(scope)/\(operation)"
    }

    private static func freePort() throws -> Int {
        let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Bool in
                bind(listener, address, size) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        guard port else { throw Program.Failure(description: "no free port") }
        return Int(in_port_t(bigEndian: address.sin_port))
    }
}
