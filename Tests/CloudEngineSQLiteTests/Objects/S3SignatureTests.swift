// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudStorageSupport
import Testing

@Suite struct S3SignatureTests {
    typealias Parameter = S3Signature.Parameter

    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let message: S3Signature.Message
        let signature: String
    }

    /// Source: *Amazon S3 API Reference*, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk",
    /// examples of GET Object, PUT Object, GET Bucket Lifecycle and GET Bucket (List Objects).
    private static let examples: [Example] = {
        let host = "examplebucket.s3.amazonaws.com"
        return [
            Example(
                testDescription: "a range of an object",
                message: S3Signature.Message(method: "GET", host: host, path: "/test.txt", headers: [Parameter("Range", "bytes=0-9")]),
                signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            Example(
                testDescription: "an object with a name that is encoded",
                message: S3Signature.Message(
                    method: "PUT", host: host, path: "/test$file.text",
                    headers: [
                        Parameter("Date", "Fri, 24 May 2013 00:00:00 GMT"), Parameter("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                    ], bodySHA256: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"),
                signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            Example(
                testDescription: "a parameter without a value",
                message: S3Signature.Message(method: "GET", host: host, path: "/", query: [Parameter("lifecycle", "")]),
                signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            Example(
                testDescription: "parameters in another order",
                message: S3Signature.Message(
                    method: "GET", host: host, path: "/", query: [Parameter("prefix", "J"), Parameter("max-keys", "2")]),
                signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ]
    }()

    private static let key = S3Key(id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    @Test(arguments: examples)
    func signaturesAreThoseOfAmazonsExamples(_ example: Example) throws {
        // 2013-05-24T00:00:00Z
        let headers = S3Signature(key: Self.key, region: "us-east-1").headers(of: example.message, at: 1_369_353_600)
        let authorization = try #require(headers.first { $0.name == "Authorization" }?.value)
        #expect(authorization.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"))
        #expect(authorization.hasSuffix("Signature=\(example.signature)"))
        #expect(headers.contains(Parameter("X-Amz-Date", "20130524T000000Z")))
    }

    @Test func keysDoNotPrintTheirSecret() {
        let signature = S3Signature(key: Self.key, region: "us-east-1")
        var dumped = ""
        dump(signature, to: &dumped)
        for text in ["\(signature)", String(reflecting: signature), dumped, "\(Self.key)"] { #expect(!text.contains("wJalr"), "\(text)") }
    }

    @Test func textIsEncodedByBytes() {
        #expect(S3Signature.encoded("a b/ü~") == "a%20b%2F%C3%BC~")
        #expect(S3Signature.encoded("/a+b/c", keepsSlashes: true) == "/a%2Bb/c")
    }

    // MARK: Locations

    @Test(arguments: [
        ("s3://bucket", "https://s3.example.com", "s3://bucket at https://s3.example.com"),
        ("s3://bucket/a/b/", "http://127.0.0.1:9000", "s3://bucket/a/b at http://127.0.0.1:9000"),
        ("s3://my.bucket-1/x_y", "https://store:443/", "s3://my.bucket-1/x_y at https://store"),
    ])
    func locationsAreReadAndShown(_ text: String, _ endpoint: String, _ shown: String) throws {
        #expect(try #require(S3Location(text, endpoint: endpoint)).shown == shown)
    }

    @Test(arguments: [
        ("bucket", "https://a.example"), ("s3://", "https://a.example"), ("s3://ab", "https://a.example"),
        ("s3://bucket//x", "https://a.example"), ("s3://bucket/../x", "https://a.example"), ("s3://bucket/a b", "https://a.example"),
        ("s3://bucket", "a.example"), ("s3://bucket", "ftp://a.example"), ("s3://bucket", "https://a.example/path"),
        ("s3://bucket", "https://user:secret@a.example"), ("s3://bucket", "https://a.example?x=1"),
    ])
    func otherLocationsAreRejected(_ text: String, _ endpoint: String) {
        #expect(S3Location(text, endpoint: endpoint) == nil)
    }

    @Test(arguments: [("127.0.0.1:9000", true), ("localhost", true), ("127.example.com", false), ("10.0.0.1", false)])
    func loopbackIsKnown(_ host: String, _ isLoopback: Bool) throws {
        #expect(try #require(S3Location("s3://bucket", endpoint: "http://\(host)")).isLoopback == isLoopback)
    }

    // MARK: Documents

    @Test func documentsAreReadByPath() {
        let document = S3Document(
            Array(
                """
                <?xml version="1.0"?>
                <List xmlns="http://s3.amazonaws.com/doc/"><Name>a &amp; b</Name><Prefix/>
                <Contents><Size>1</Size><Key>x</Key><Owner><ID>o</ID></Owner></Contents><Contents><Key>y</Key></Contents></List>
                """.utf8))
        #expect(document.root == "List")
        #expect(document.text("List/Name") == "a & b")
        #expect(document.text("List/Prefix") == "")
        #expect(document.items("List/Contents") == [["Size": "1", "Key": "x", "Owner/ID": "o"], ["Key": "y"]])
    }

    @Test(arguments: ["", "<", "a < b", "<a><b></a>", "</a>", "<a>\(String(repeating: "<b>", count: 100))", "{}", "<a"])
    func otherTextHasNoElements(_ text: String) {
        #expect(S3Document(Array(text.utf8)).leaves.isEmpty)
    }
}
