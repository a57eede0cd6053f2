// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import SystemSupport

/// The configuration of a client, from the same sources that apps read: the environment, else the first `tarn.json`.
struct ClientSetup {
    var server: String
    var token: String?
    var environment: CloudEnvironment?
    /// Path of a PEM file.
    var caCertificate: String?
    var findings: [Finding]

    private struct File: Decodable {
        struct Entry: Decodable {
            var server: String?
            var token: String?
            var environment: String?
            var caCertificate: String?
        }

        var server: String?
        var token: String?
        var environment: String?
        var caCertificate: String?
        var containers: [String: Entry]?
    }

    /// - Returns: Nil if no server is configured.
    /// - Throws: ``CommandError`` for a file that cannot be read.
    static func read(server: String?, variables: [String: String], container: String?) throws -> ClientSetup? {
        var setup: ClientSetup
        if let address = server ?? variables["TARN_SERVER"] {
            let source = server == nil ? "TARN_SERVER" : "--server"
            setup = ClientSetup(server: address, findings: [.ok("configuration", "\(address), from \(source)")])
        } else {
            guard let path = paths(variables).first(where: { FileManager.default.fileExists(atPath: $0) }) else { return nil }
            guard let content = FileManager.default.contents(atPath: path) else {
                throw CommandError("\(path) cannot be read: check its permissions.")
            }
            let file: File
            do { file = try JSONDecoder().decode(File.self, from: content) } catch {
                throw CommandError("\(path) is invalid: write it as {\"server\": \"https://cloud.example.org\", \"token\": \"…\"}.")
            }
            let own = container.flatMap { file.containers?[$0] }
            guard let address = own?.server ?? file.server else {
                throw CommandError(#"\#(path) names no server: add "server": "https://cloud.example.org"."#)
            }
            setup = ClientSetup(server: address, findings: [.ok("configuration", "\(address), from \(path)")])
            setup.token = own?.token ?? (own?.server == nil ? file.token : nil)
            setup.environment = (own?.environment ?? file.environment).flatMap(CloudEnvironment.init(rawValue:))
            setup.caCertificate = (own?.caCertificate ?? (own?.server == nil ? file.caCertificate : nil)).map {
                $0.hasPrefix("/") ? $0 : URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent($0).path
            }
            if setup.token != nil, FileStamp(path: path)?.isOpenToOthers == true {
                setup.findings.append(.warning("token file", "other users may read \(path), which has a token", "run 'chmod 600 \(path)'"))
            }
        }
        setup.token = variables["TARN_TOKEN"] ?? setup.token
        setup.environment = variables["TARN_ENVIRONMENT"].flatMap(CloudEnvironment.init(rawValue:)) ?? setup.environment
        setup.caCertificate = variables["TARN_CA_CERTIFICATE"].flatMap { $0.isEmpty ? nil : $0 } ?? setup.caCertificate
        return setup
    }

    /// A client searches its program's folder, for which the working directory stands in here, and then the user's configuration
    /// folder.
    private static func paths(_ variables: [String: String]) -> [String] {
        let home = FileManager.default.homeDirectoryForCurrentUser.path
        let configuration = variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.config"
        return ["tarn.json", "\(configuration)/tarn/tarn.json"]
    }
}
