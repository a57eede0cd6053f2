// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Crypto
import Foundation
import TestBasics
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
    static let modifyPath = "\(root)/records/modify"
    static let note = Array(#"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"n":{"value":1}}}}]}"#.utf8)
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

    @Test func requestsSignedByAnotherProgramAreAccepted() async throws {
        try await Self.withKey { server, key in
            let list = try await server.send("GET", Self.listPath, token: nil, headers: Self.headers(key, Self.listSignature))
            #expect(list.status == 200)
            let short = try await server.send(
                "GET", Self.listPath, token: nil, headers: Self.headers(key, Self.emptyHashSignature))
            #expect(short.status == 200)
            let query = try await server.send(
                "POST", Self.queryPath, token: nil, body: Self.query, headers: Self.headers(key, Self.querySignature))
            #expect(query.error?.code != .authenticationFailed)
            #expect(query.error?.code != .authenticationRequired)
        }
    }

    /// In the forms that libraries write by default.
    @Test(arguments: [
        ("2030-01-02T03:04:05.678Z", "MEUCIDedAFAMYFkF3pfLjc3zlG9OXDbfZfLIzG0T1pNX/AjdAiEAz3B0Kkze+JkLR/VyVNHevNUzPzSUF0fxsrQ1xDLnIiA="),
        ("2030-01-02T05:34:05+02:30", "MEQCIDloEtiYv6WnP1o+uI8c7TKoT5QtIY9GnhwhhknsvC84AiACB+q7K+Uuoc9LLr/AcLo81qoDee2ck7PXgXqxYut5KQ=="),
        ("2030-01-02T03:04:05.123456", "MEYCIQCtSD0eRqhZPaTaSFE4Lpk6WFgNjLJDWQIIvbPhSoTogQIhAI5cn5wGlnuvW54lTA3XIWphCaLoi9C/q1hTd6S+nVW/"),
    ])
    func datesWithFractionsAndOffsetsAreAccepted(_ date: String, _ signature: String) async throws {
        let pem = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJQId6d8ECG2krFxsvAd2pObL0zTV
            1iKXNmYHR04MDvZmGY8lUimnyGXaktqc66JMbfyETsumocoVRVkfn1TvPg==
            -----END PUBLIC KEY-----
            """
        try await LiveServer.run { server in
            server.clock.set(Self.milliseconds)
            let key = try await server.store.addServerKey(
                pem: pem, containerIdentifier: LiveServer.container, environment: .development, label: "job", now: server.clock.now)
            let headers = Self.headers(key, signature, date: date)
            server.clock.set(Self.milliseconds + 601_000)
            #expect(try await server.send("GET", Self.listPath, token: nil, headers: headers).status == 401)
            server.clock.set(Self.milliseconds + 599_000)
            #expect(try await server.send("GET", Self.listPath, token: nil, headers: headers).status == 200)
        }
    }

    @Test(arguments: [
        "yesterday", "2030-01-02T03:04:05.Z", "2030-01-02T03:04:05+2", "2030-01-02T03:04:05Zulu", "2030-01-02T03:04",
        "2030-13-02T03:04:05Z", "",
    ])
    func aMalformedDateIsRejectedWithItsReason(_ date: String) async throws {
        try await Self.withKey { server, key in
            let answer = try await server.send("GET", Self.listPath, token: nil, headers: Self.headers(key, Self.listSignature, date: date))
            #expect(answer.status == 401)
            #expect(answer.error?.reason.contains("2030-01-02T03:04:05Z") == true)
        }
    }

    /// Signers that draw no random numbers send a read twice in a second alike.
    @Test func aSignedReadMayBeRepeated() async throws {
        try await Self.withKey { server, key in
            let headers = Self.headers(key, Self.listSignature)
            for (seconds, status) in [(0, 200), (0, 200), (599, 200), (601, 401)] as [(Int64, Int)] {
                server.clock.set(Self.milliseconds + seconds * 1000)
                let answer = try await server.send("GET", Self.listPath, token: nil, headers: headers)
                #expect(answer.status == status)
            }
        }
    }

    @Test func aReplayedSignedWriteIsRejected() async throws {
        try await Self.withSigner { server, signer in
            let token = try await server.addUser("mia")
            let headers = try signer.headers(Self.modifyPath, Self.note)
            #expect(try await server.send("POST", Self.modifyPath, token: nil, body: Self.note, headers: headers).status == 200)
            for more in [[], [(HeaderNames.idempotencyKey, "another")]] {
                let again = try await server.send("POST", Self.modifyPath, token: nil, body: Self.note, headers: headers + more)
                #expect(again.status == 401)
                #expect(again.error?.code == .authenticationFailed)
            }
            #expect(try await Self.count(server, token: token) == 1)
        }
    }

    /// The key makes the answer the one that was given.
    @Test func aReplayedSignedWriteWithItsIdempotencyKeyReturnsTheStoredResponse() async throws {
        try await Self.withSigner { server, signer in
            let token = try await server.addUser("mia")
            let headers = try signer.headers(Self.modifyPath, Self.note) + [(HeaderNames.idempotencyKey, "once")]
            let first = try await server.send("POST", Self.modifyPath, token: nil, body: Self.note, headers: headers)
            let again = try await server.send("POST", Self.modifyPath, token: nil, body: Self.note, headers: headers)
            #expect(first.status == 200)
            #expect(again.status == 200)
            #expect(first.body == again.body)
            #expect(try await Self.count(server, token: token) == 1)
            for more in [[], [(HeaderNames.idempotencyKey, "another")]] {
                let other = try await server.send("POST", Self.modifyPath, token: nil, body: Self.note, headers: headers.dropLast() + more)
                #expect(other.status == 401)
            }
            #expect(try await Self.count(server, token: token) == 1)
        }
    }

    /// A key of the test, with signatures made during the test.
    struct Signer: Sendable {
        let key = P256.Signing.PrivateKey()
        var id = ""

        func headers(_ path: String, _ body: [UInt8]) throws -> [(String, String)] {
            let hash = Data(SHA256.hash(data: body)).base64EncodedString()
            let signature = try key.signature(for: Data("\(date):\(hash):\(path)".utf8))
            return SignedRequestTests.headers(id, signature.derRepresentation.base64EncodedString())
        }
    }

    static func withSigner(_ body: @Sendable (LiveServer, Signer) async throws -> Void) async throws {
        try await LiveServer.run { server in
            server.clock.set(milliseconds)
            var signer = Signer()
            signer.id = try await server.store.addServerKey(
                pem: signer.key.publicKey.pemRepresentation, containerIdentifier: LiveServer.container, environment: .development,
                label: "job", now: server.clock.now)
            try await body(server, signer)
        }
    }

    /// How many notes the public database holds.
    static func count(_ server: LiveServer, token: String) async throws -> Int {
        let body = #"{"query":{"recordType":"Note","filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1}}]}}"#
        let answer = try await server.send("POST", queryPath, token: token, body: Array(body.utf8))
        return try QueryRecordsResponse(json: answer.body).results.count
    }

    @Test func requestsWithAnotherKeyDateOrContentAreRejected() async throws {
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

    /// Defects of a signed request: each has its own reason.
    @Test func theReasonNamesTheFormTheDateTheKeyOrTheContent() async throws {
        try await Self.withSigner { server, signer in
            func reason(_ headers: [(String, String)], body: [UInt8] = Self.query) async throws -> String {
                let answer = try await server.send("POST", Self.queryPath, token: nil, body: body, headers: headers)
                #expect(answer.status == 401)
                #expect(answer.error?.code == .authenticationFailed)
                return answer.error?.reason ?? ""
            }
            let hash = Data(SHA256.hash(data: Self.query)).base64EncodedString()
            let signature = try signer.key.signature(for: Data("\(Self.date):\(hash):\(Self.queryPath)".utf8))
            let raw = signature.rawRepresentation.base64EncodedString()
            // Of a signature that needs one of the two signs that differ.
            let url = "-_" + signature.derRepresentation.base64EncodedString().dropFirst(2)
            let good = signature.derRepresentation.base64EncodedString()
            #expect(try await reason(Self.headers(signer.id, raw)).contains("raw form, r followed by s"))
            #expect(try await reason(Self.headers(signer.id, url)).contains("base64url"))
            #expect(try await reason(Self.headers(signer.id, "no base64!")).contains("is not base64"))
            #expect(try await reason(Self.headers(signer.id, "AAAA")).contains("3 bytes that are not DER"))
            #expect(
                try await reason(Self.headers((signer.id.hasPrefix("0") ? "1" : "0") + signer.id.dropFirst(), good)).contains(
                    "has the key ID"))
            #expect(try await reason(Self.headers(signer.id, good, date: "yesterday")).contains("is not written as"))
            #expect(
                try await reason(Self.headers(signer.id, good, date: "2029-01-02T03:04:05Z")).contains("too far from the server's clock"))
            #expect(try await reason(Self.headers(signer.id, good, date: "2030-01-02T03:04:06Z")).contains("does not fit the request"))
            #expect(
                try await reason(Self.headers(signer.id, good), body: Self.query + [32]).contains(
                    "the base64 SHA-256 of the body and \(Self.queryPath)"))
            let stranger = try Signer(id: signer.id).headers(Self.queryPath, Self.query)
            #expect(try await reason(stranger).contains("another private key"))
            #expect(
                try await reason(Array(Self.headers(signer.id, good).dropLast())).lowercased().contains(
                    "lacks x-apple-cloudkit-request-signaturev1"))
        }
    }

    @Test func publicKeysOutsideTheCurveAreRejected() async throws {
        try await LiveServer.run { server in
            await #expect(throws: StorageFailure.self) {
                try await server.store.addServerKey(
                    pem: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
                    containerIdentifier: LiveServer.container, environment: .development, label: "", now: 0)
            }
        }
    }
}
