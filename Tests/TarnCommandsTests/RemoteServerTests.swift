// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Glibc
import NIOCore
import TestBasics
import Testing

@testable import TarnCommands

/// Requests of commands to a server.
@Suite struct RemoteServerTests {
    /// A port without a program that accepts: the kernel opens connections and takes the request.
    private final class SilentPort {
        let descriptor: Int32
        let address: String

        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listener = descriptor
            let isListening = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(listener, pointer, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, pointer, &length) == 0
                }
            }
            guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
            address = "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        }

        deinit { close(descriptor) }
    }

    private static func server(_ address: String) throws -> RemoteServer {
        let folder = TemporaryFolder()
        let path = folder.path + "/operator.key"
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try #require(
            FileManager.default.createFile(atPath: path, contents: Data("secret".utf8), attributes: [.posixPermissions: 0o600]))
        return try withExtendedLifetime(folder) { try RemoteServer(address: address, keyFile: path) }
    }

    /// A long change of a schema goes on there.
    @Test func aServerThatDoesNotAnswerInTimeIsNotCalledUnreachable() async throws {
        let port = try SilentPort()
        var server = try Self.server(port.address)
        server.timeout = .milliseconds(300)
        let slow = server
        let error = await #expect(throws: CommandError.self) { try await slow.send("POST", "/console/api/operator/schema.deploy", []) }
        #expect(error?.description.contains("did not answer in time, and may still execute the command") == true)
    }

    /// Sends the response to the first request of a port, and closes the connection.
    private static func respond(_ response: String, on port: SilentPort) {
        let descriptor = port.descriptor
        Thread.detachNewThread {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
            let size = 65_536
            var request = [UInt8](repeating: 0, count: size)
            _ = read(connection, &request, size)
            let bytes = Array(response.utf8)
            _ = write(connection, bytes, bytes.count)
            close(connection)
        }
    }

    @Test(arguments: [
        ("Content-Length: 5\r\n\r\n<html", "answered without JSON: is it the address of a tarn server?"),
        ("Content-Length: 0\r\n\r\n", "answered without JSON"), ("Content-Length: 50\r\n\r\n{\"users\":", "broke off"),
    ])
    func aResponseThatIsNotOfATarnServerIsExplained(_ response: String, _ problem: String) async throws {
        let port = try SilentPort()
        Self.respond("HTTP/1.1 200 OK\r\n" + response, on: port)
        let server = try Self.server(port.address)
        let error = await #expect(throws: CommandError.self) { try await server.send("POST", "/console/api/operator/user.list", []) }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test func aClosedPortIsUnreachable() async throws {
        let address = try SilentPort().address
        let server = try Self.server(address)
        let error = await #expect(throws: CommandError.self) { try await server.send("POST", "/console/api/operator/user.list", []) }
        #expect(error?.description.contains("cannot be reached") == true)
    }
}
