// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

private func file(_ json: String) -> ConfigurationSources.File {
    ConfigurationSources.File(path: "/etc/app/tarn.json", content: Array(json.utf8))
}

private func resolve(_ sources: ConfigurationSources, _ identifier: String = "iCloud.n") throws -> ResolvedConfiguration {
    try ConfigurationResolver.resolve(container: identifier, sources)
}

private let twoServers = file(
    #"{"server":"https://a.example","token":"ta","environment":"production","#
        + #""containers":{"iCloud.x":{"server":"https://b.example"},"iCloud.y":{"token":"ty"}}}"#)

@Suite struct ConfigurationTests {
    @Test func codeComesBeforeTheEnvironmentAndThatBeforeFiles() throws {
        let environment = ["TARN_SERVER": "http://env.example", "TARN_TOKEN": "te"]
        var sources = ConfigurationSources(
            code: .init(server: "http://code.example:81/", token: "tc", environment: .production),
            environment: environment, files: [twoServers])
        #expect(try resolve(sources).server.root == "http://code.example:81")
        #expect(try resolve(sources).environment == .production)
        sources.code = nil
        #expect(try resolve(sources).server.root == "http://env.example")
        #expect(try resolve(sources).token == "te")
        #expect(try resolve(sources).environment == .development)
        sources.environment = [:]
        #expect(try resolve(sources).server.root == "https://a.example")
        #expect(try resolve(sources).environment == .production)
    }

    @Test func aTokenIsSentOnlyToItsOwnServer() throws {
        let files = ConfigurationSources(files: [twoServers])
        #expect(try resolve(files).token == "ta")
        #expect(try resolve(files, "iCloud.x").server.root == "https://b.example")
        #expect(try resolve(files, "iCloud.x").token == nil)
        #expect(try resolve(files, "iCloud.y").token == "ty")
        let mixed = ConfigurationSources(environment: ["TARN_SERVER": "http://env.example"], files: [twoServers])
        #expect(try resolve(mixed).token == nil)
        let overridden = ConfigurationSources(environment: ["TARN_TOKEN": " te\n"], files: [twoServers])
        #expect(try resolve(overridden).token == "te")
    }

    @Test func authoritiesComeWithTheServerTheyAreTrustedFor() throws {
        let file = file(
            #"{"server":"https://a.example","caCertificate":"own/ca.pem","#
                + #""containers":{"iCloud.x":{"server":"https://b.example"},"iCloud.y":{"caCertificate":"/y.pem"}}}"#)
        var sources = ConfigurationSources(files: [file])
        #expect(try resolve(sources).caCertificate == "/etc/app/own/ca.pem", "a relative path is relative to the file")
        #expect(try resolve(sources, "iCloud.x").caCertificate == nil, "another server has none")
        #expect(try resolve(sources, "iCloud.y").caCertificate == "/y.pem")
        sources.environment = ["TARN_CA_CERTIFICATE": "/env.pem"]
        #expect(try resolve(sources).caCertificate == "/env.pem")
        sources.environment["TARN_SERVER"] = "https://env.example"
        #expect(try resolve(sources).caCertificate == "/env.pem")
        sources.environment["TARN_CA_CERTIFICATE"] = ""
        #expect(try resolve(sources).caCertificate == nil)
        sources.environment["TARN_CA_CERTIFICATE"] = "/env.pem"
        sources.code = .init(server: "https://code.example", token: nil, caCertificate: URL(fileURLWithPath: "/code.pem"))
        #expect(try resolve(sources).caCertificate == "/code.pem")
        sources.code?.caCertificate = nil
        #expect(try resolve(sources).caCertificate == nil)
    }

    @Test(arguments: ["localhost:8080", "", "ftp://h", "http://", "http://u:p@h", "http://h:99999", "http://h?q=1"])
    func aWrongAddressIsOneSentence(_ address: String) async {
        let environment = ["TARN_SERVER": address, "TARN_TOKEN": "t"]
        let error = await failure { try resolve(ConfigurationSources(environment: environment)) }
        #expect(error?.code == .badContainer)
        #expect(
            error?.localizedDescription == """
                the server address in TARN_SERVER is not valid: it should look like http://localhost:8080 or \
                https://cloud.example.org
                """)
    }

    @Test func configurationErrorsNameTheNextStep() async {
        let none = await failure { try resolve(ConfigurationSources(searchedPaths: ["/a/tarn.json"])) }
        #expect(
            none?.localizedDescription
                == "no server is configured for iCloud.n: set TARN_SERVER and TARN_TOKEN, or write a tarn.json (looked for at /a/tarn.json), or call CKContainer.configure"
        )
        let closed = await failure { try resolve(ConfigurationSources(files: [.init(path: "/a/tarn.json", content: nil)])) }
        #expect(closed?.localizedDescription == "/a/tarn.json cannot be read: check its permissions")
        let broken = await failure { try resolve(ConfigurationSources(files: [file(#"{"server":1}"#)])) }
        #expect(broken?.localizedDescription == "/etc/app/tarn.json is invalid: expected a string, at server (byte 10)")
        let empty = await failure { try resolve(ConfigurationSources(files: [file("{}")])) }
        #expect(empty?.localizedDescription.hasPrefix("/etc/app/tarn.json names no server") == true)
        let environment = await failure {
            try resolve(ConfigurationSources(environment: ["TARN_SERVER": "http://h", "TARN_ENVIRONMENT": "test"]))
        }
        #expect(environment?.localizedDescription.hasPrefix("the environment is neither") == true)
        let token = await failure { try resolve(ConfigurationSources(environment: ["TARN_SERVER": "http://h", "TARN_TOKEN": "a b"])) }
        #expect(token?.code == .notAuthenticated)
        let identifier = await failure { try resolve(ConfigurationSources(environment: ["TARN_SERVER": "http://h"]), "a/b") }
        #expect(identifier?.code == .badContainer)
    }

    @Test func anAnonymousClientHasNoAccount() async throws {
        let container = CKContainer(identifier: "iCloud.configuration.nobody")
        CKContainer.configure(.init(server: "http://127.0.0.1:9", token: nil), for: "iCloud.configuration.nobody")
        #expect(try await container.accountStatus() == .noAccount)
        let error = await failure { try await container.privateCloudDatabase.allRecordZones() }
        #expect(error?.code == .notAuthenticated)
        #expect(error?.localizedDescription.contains("tarn user add") == true)
    }

    @Test(arguments: [
        (AppErrorCode.managedAccountRestricted, CKAccountStatus.restricted),
        (.accountTemporarilyUnavailable, .temporarilyUnavailable),
    ])
    func aRejectedAccountHasAReason(_ code: AppErrorCode, _ status: CKAccountStatus) async throws {
        let transport = RecordingTransport(.refused(WireError(.accessDenied, "not now", nativeCode: code)))
        let container = CKContainer(
            identifier: "iCloud.configuration.account",
            connection: OwnConnection(Connection(environment: .development, transport: transport)))
        #expect(try await container.accountStatus() == status)
    }

    /// With another connection, sync looks up the account again, and reports it.
    @Test func concurrentCallersGetOneConnection() async throws {
        for round in 0..<100 {
            let identifier = "iCloud.configuration.once\(round)"
            CKContainer.configure(.init(server: "http://127.0.0.1:9", token: "t"), for: identifier)
            let transports = try await withThrowingTaskGroup(of: (any CloudTransport).self) { group in
                for _ in 0..<8 { group.addTask { try CKContainer(identifier: identifier).client(for: .private).transport } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(transports.map { ObjectIdentifier($0 as AnyObject) }).count == 1)
            CKContainer.configure(nil, for: identifier)
        }
    }

    @Test func aConfigurationOfOneContainerLeavesTheConnectionsOfOthers() throws {
        CKContainer.configure(.init(server: "http://127.0.0.1:9", token: "t"), for: "iCloud.configuration.one")
        let before = try CKContainer(identifier: "iCloud.configuration.one").client(for: .private).transport
        CKContainer.configure(.init(server: "http://127.0.0.1:9", token: "u"), for: "iCloud.configuration.other")
        let after = try CKContainer(identifier: "iCloud.configuration.one").client(for: .private).transport
        #expect(before as AnyObject === after as AnyObject)
    }

    @Test func aTokenIsNeverPrinted() {
        let configuration = CKContainer.Configuration(server: "http://h", token: "s3cr3t")
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped, "\(configuration.token as Any)"] {
            #expect(!text.contains("s3cr3t"))
            #expect(text.contains("•••"))
        }
    }
}
