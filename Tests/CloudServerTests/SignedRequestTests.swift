// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudWire
import Testing

/// Server-to-server keys, with requests that another program signed.
@Suite struct SignedRequestTests {
    static let date = "2030-01-02T03:04:05Z"
    static let milliseconds: Int64 = 1_893_553_445_000
    static let pem = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0c0QVezaQAoet3cVWGr+7RY+m9cv
        zTasLI4OuDAL0+Y1UXKyJD1EUPWg2jjn0Y+uHXzssi/d9pIz19BuJ+KfQA==
        -----END PUBLIC KEY-----
        """
    static let root = "/database/1/iCloud.org.example.notes/development/public"
    static let query = Array(#"{"query":{"recordType":"Note"}}"#.utf8)
    static let queryPath = "\(root)/records/query"
    static let querySignature =
        "MEUCIQDxhp0KhCAcp8HAXcRetXd5Kk1+cCAximFCpMttudtmZQIgZA9XyCjFEwBVSaNIiJvo7afRo+awkyR+xum9uy9wNos="
    static let listPath = "\(root)/zones/list"
    static let listSignature =
        "MEUCIAY+oP6GTIpvYKSqTAysUou2J1SW5YCXeZIzrPr1nhWBAiEA9J22snlGWR1nPDFF4cmxDyD18HAZoqCGRn82bYWdKvI="
    static let emptyHashSignature =
        "MEQCICKC+kflTpfAmhB5zgwTaVMKrn8EDFzm8fhm8cOjyhSuAiA9uP6o3IJhgnOA/c2yRbtMU7BML0ZkG+cQhnzmxeCkiw=="

    static func withKey(_ body: @Sendable (LiveServer, _ key: String) async throws -> Void) async throws {
        try await LiveServer.run { server in
            server.clock.set(milliseconds)
            let key = try await server.store.addServerKey(
                pem: pem, containerIdentifier: LiveServer.container, environment: .development, label: "job",
                now: server.clock.now)
            try await body(server, key)
        }
    }

    static func headers(_ key: String, _ signature: String, date: String = date) -> [(String, String)] {
        [
            (HeaderNames.requestKeyID, key), (HeaderNames.requestDate, date), (HeaderNames.requestSignature, signature),
        ]
    }

    @Test func requestsThatAnotherProgramSignedAreAccepted() async throws {
        try await Self.withKey { server, key in
            let list = try await server.send("GET", Self.listPath, token: nil, headers: Self.headers(key, Self.listSignature))
            #expect(list.status == 200)
            let short = try await server.send(
                "GET", Self.listPath, token: nil, headers: Self.headers(key, Self.emptyHashSignature))
            #expect(short.status == 200)
            let query = try await server.send(
                "POST", Self.queryPath, token: nil, body: Self.query, headers: Self.headers(key, Self.querySignature))
            #expect(query.error?.code != .authenticationFailed && query.error?.code != .authenticationRequired)
        }
    }

    @Test func aSignedRequestIsGoodOnce() async throws {
        try await Self.withKey { server, key in
            let headers = Self.headers(key, Self.listSignature)
            #expect(try await server.send("GET", Self.listPath, token: nil, headers: headers).status == 200)
            let again = try await server.send("GET", Self.listPath, token: nil, headers: headers)
            #expect(again.status == 401 && again.error?.code == .authenticationFailed)
        }
    }

    @Test func anythingElseIsRefused() async throws {
        try await Self.withKey { server, key in
            func list(_ headers: [(String, String)], _ path: String = Self.listPath) async throws -> Int {
                try await server.send("GET", path, token: nil, headers: headers).status
            }
            let good = Self.headers(key, Self.listSignature)
            #expect(try await list(Self.headers((key.hasPrefix("0") ? "1" : "0") + key.dropFirst(), Self.listSignature)) == 401)
            #expect(try await list(Self.headers(key, Self.querySignature)) == 401)
            #expect(try await list(Self.headers(key, "AAAA")) == 401)
            #expect(try await list(Self.headers(key, "no base64!")) == 401)
            #expect(try await list(Self.headers(key, Self.listSignature, date: "2030-01-02T03:04:06Z")) == 401)
            #expect(try await list(Self.headers(key, Self.listSignature, date: "yesterday")) == 401)
            #expect(try await list(Array(good.dropLast())) == 401)
            #expect(try await list(good, "\(Self.root)/zones/lookup") == 404)
            let otherBody = try await server.send(
                "POST", Self.queryPath, token: nil, body: Self.query + [32], headers: Self.headers(key, Self.querySignature))
            #expect(otherBody.status == 401)
            server.clock.set(Self.milliseconds + 601_000)
            #expect(try await list(good) == 401)
            server.clock.set(Self.milliseconds - 601_000)
            #expect(try await list(good) == 401)
            server.clock.set(Self.milliseconds - 599_000)
            #expect(try await list(good) == 200)
            try await server.store.removeServerKey(id: key)
            #expect(try await list(Self.headers(key, Self.emptyHashSignature)) == 401)
        }
    }

    @Test func onlyKeysOnTheCurveAreTaken() async throws {
        try await LiveServer.run { server in
            await #expect(throws: StorageFailure.self) {
                try await server.store.addServerKey(
                    pem: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
                    containerIdentifier: LiveServer.container, environment: .development, label: "", now: 0)
            }
        }
    }
}
