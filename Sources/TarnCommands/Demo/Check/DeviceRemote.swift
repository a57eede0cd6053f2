// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A device's actions, by the same HTTP interface as its page.
struct DeviceRemote: Sendable {
    struct Saved: Decodable, Sendable {
        var post: DeviceView.Post
        /// When the save returned, by the machine's steady clock.
        var savedAt: UInt64
    }

    private static let answersWithin = TimeAmount.seconds(60)
    private static let answerBytesMax = 64 << 20

    let name: String
    let address: String

    func addPost(_ title: String, content: String = "") async throws -> Saved {
        try await decoded(send(.POST, "posts", json: ["title": title, "content": content]))
    }

    func addSamples(_ count: Int, title: String) async throws {
        _ = try await send(.POST, "samples", body: Data("{\"count\":\(count),\"title\":\"\(title)\"}".utf8))
    }

    func change(_ post: String, _ fields: [String: String]) async throws {
        _ = try await send(.PATCH, "posts/\(post)", json: fields)
    }

    func delete(posts: [String], tags: [String]) async throws {
        _ = try await send(.POST, "deletions", json: ["posts": posts, "tags": tags])
    }

    func moveToTrash(_ post: String) async throws {
        _ = try await send(.PUT, "trash/\(post)")
    }

    func restore(_ post: String) async throws {
        _ = try await send(.DELETE, "trash/\(post)")
    }

    func emptyTrash() async throws {
        _ = try await send(.DELETE, "trash")
    }

    func addTag(_ name: String, color: String) async throws -> DeviceView.Tag {
        try await decoded(send(.POST, "tags", json: ["name": name, "color": color]))
    }

    func tag(_ post: String, with tag: String) async throws {
        _ = try await send(.PUT, "posts/\(post)/tags/\(tag)")
    }

    func attach(_ picture: Data, thumbnail: Data, name: String, to post: String) async throws {
        _ = try await send(
            .POST, "posts/\(post)/attachments?name=\(name)&thumbnail=\(thumbnail.count)", type: "application/octet-stream",
            body: thumbnail + picture)
    }

    func picture(of attachment: String) async throws -> Data { try await send(.GET, "attachments/\(attachment)/image") }

    func goOnline(_ isOnline: Bool) async throws {
        _ = try await send(.POST, "network", json: ["online": isOnline])
    }

    // MARK: Requests

    private func send(_ method: HTTPMethod, _ path: String, json: some Encodable) async throws -> Data {
        try await send(method, path, body: try JSONEncoder().encode(json))
    }

    /// - Throws: ``CommandError`` with the device's own message if it rejects the request.
    private func send(_ method: HTTPMethod, _ path: String, type: String = "application/json", body: Data? = nil) async throws -> Data {
        var request = HTTPClientRequest(url: "\(address)/\(path)")
        request.method = method
        if let body {
            request.headers.add(name: "Content-Type", value: type)
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        let response: HTTPClientResponse
        let answer: Data
        do {
            response = try await HTTPClient.shared.execute(request, timeout: Self.answersWithin)
            answer = Data(try await response.body.collect(upTo: Self.answerBytesMax).readableBytesView)
        } catch let error as HTTPClientError {
            throw CommandError("\(name) did not answer \(method.rawValue) \(path): \(error.shortDescription).")
        }
        guard 200..<300 ~= response.status.code else {
            throw CommandError("\(name) refused \(method.rawValue) \(path): \(String(decoding: answer.prefix(300), as: UTF8.self))")
        }
        return answer
    }

    private func decoded<Value: Decodable>(_ data: Data) throws -> Value { try JSONDecoder().decode(Value.self, from: data) }
}
