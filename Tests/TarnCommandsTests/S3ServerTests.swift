// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudServer
import CloudService
import Crypto
import Foundation
import SystemSupport
import TestBasics
import Testing

@testable import CloudStorageSupport
@testable import TarnCommands

/// `TARN_S3_SERVER` names a program that the tests start; `TARN_S3_ENDPOINT` a store that runs, with its key in the variables of AWS.
private let serverProgram = ProcessInfo.processInfo.environment["TARN_S3_SERVER"]
private let runningEndpoint = ProcessInfo.processInfo.environment["TARN_S3_ENDPOINT"]

/// Assets in a store of others, over HTTP. `make test` installs one.
@Suite(
    .enabled(if: serverProgram != nil || runningEndpoint != nil, "TARN_S3_SERVER names no S3 server: see .ci/s3-server"), .serialized,
    .timeLimit(.minutes(2)))
struct S3ServerTests {
    /// A running server, which ends with the test process.
    private final class Server: Sendable {
        static let bucket = "tarn-tests"

        /// The server of all tests, with the bucket.
        static let shared = Task {
            let server = try await Server()
            try await server.client(prefix: "").put("", .bytes([]), bodySHA256: S3Signature.emptySHA256)
            return server
        }

        let endpoint: String
        private let process: ChildProcess?

        private static let script = #"""
            trap : TERM
            exec 3> >(sed -un 's/.*Running on http:..127.0.0.1:\([0-9]*\).*/port \1/p')
            "$0" "$@" >&3 2>&3 3>&- & server=$!
            exec 3>&-
            cat > /dev/null
            kill -9 $server
            """#

        init() async throws {
            if let runningEndpoint {
                (endpoint, process) = (runningEndpoint, nil)
            } else {
                let process = try ChildProcess(
                    "the S3 server", program: URL(fileURLWithPath: "/bin/bash"),
                    arguments: ["-c", Self.script, try #require(serverProgram), "-H", "127.0.0.1", "-p", "0"],
                    environment: ["PYTHONUNBUFFERED": "1"], log: URL(fileURLWithPath: "/dev/null"))
                endpoint = "http://127.0.0.1:\(try #require(Int(try await process.line(after: "port "))))"
                self.process = process
            }
        }

        var environment: [String: String] {
            let variables = ProcessInfo.processInfo.environment
            return [
                "AWS_ACCESS_KEY_ID": variables["AWS_ACCESS_KEY_ID"] ?? "id",
                "AWS_SECRET_ACCESS_KEY": variables["AWS_SECRET_ACCESS_KEY"] ?? "secret", "TARN_ASSETS_ENDPOINT": endpoint,
            ]
        }

        func client(bucket: String = bucket, prefix: String) throws -> S3Client {
            let environment = environment.merging(["TARN_ASSETS": "s3://\(bucket)/\(prefix)"]) { $1 }
            let objects = try AssetSettings(environment: environment).objects(environment: environment)
            return try #require(objects).client
        }
    }

    private static func file(_ bytes: [UInt8], in folder: TemporaryFolder) throws -> (path: String, asset: StoredAsset) {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = "\(folder.path)/\(bytes.count)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return (path, StoredAsset(checksum: Hex.text(SHA256.hash(data: Data(bytes))), size: Int64(bytes.count)))
    }

    private static func read(_ reader: any AssetReader) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < reader.size {
            let piece = try await reader.read(at: Int64(bytes.count), count: 1 << 18)
            try #require(!piece.isEmpty)
            bytes += piece
        }
        return bytes
    }

    @Test func filesAreStoredReadAndRemoved() async throws {
        let server = try await Server.shared.value
        let prefix = "run-\(UUID().uuidString)"
        let assets = S3Assets(client: try server.client(prefix: prefix), partBytes: 5 << 20)
        try await assets.claim("tarn-1", makesOwner: true)
        let folder = TemporaryFolder()
        for blocks in [[], [3], [UInt8](0..<24)] {
            let bytes = blocks.flatMap { [UInt8](repeating: $0, count: blocks.count == 1 ? 3 : 1 << 18) }
            let (path, asset) = try Self.file(bytes, in: folder)
            _ = try await assets.add(asset, at: path, part: -7)
            // As another process, which has to find it.
            let other = S3Assets(client: try server.client(prefix: prefix))
            try await other.claim("tarn-1", makesOwner: false)
            let reader = try await other.open(asset, part: -7)
            let isSame = try await Self.read(reader) == bytes
            #expect(isSame, "\(bytes.count) bytes")
            // Across the border of two parts.
            if blocks.count > 1 { #expect(try await reader.read(at: (5 << 20) - 1, count: 2) == [19, 20]) }
            let failure = await #expect(throws: StorageFailure.self) { try await other.open(asset, part: 8) }
            #expect(failure == .missingFile)
        }
        let later = CloudService.Surroundings.system.now() + 2 * 86_400_000
        try await assets.removeUnreferenced(now: later) { _, _ in true }
        #expect(try await assets.client.list("assets/").objects.count == 3)
        try await S3Assets(client: assets.client).removeUnreferenced(now: later) { _, _ in false }
        #expect(try await assets.client.list("assets/").objects.isEmpty)
    }

    @Test func unusableStoresAreExplained() async throws {
        let server = try await Server.shared.value
        await #expect(throws: S3Failure.rejected(status: 404, code: "NoSuchBucket")) {
            try await S3Assets(client: try server.client(bucket: "tarn-missing", prefix: "")).claim("tarn-1", makesOwner: true)
        }
        let prefix = "run-\(UUID().uuidString)"
        try await S3Assets(client: try server.client(prefix: prefix)).claim("tarn-1", makesOwner: true)
        await #expect(throws: S3Failure.foreignOwner) {
            try await S3Assets(client: try server.client(prefix: prefix)).claim("tarn-2", makesOwner: true)
        }
    }
}
