// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1

/// Follows the public database of a server: fetches the change feed when the push stream notifies it.
struct ServerWatch {
    private static let lineBytesMax = 65_536

    let server: String
    let container: String
    let environment: CloudEnvironment
    let database: RecordDatabase

    /// Runs until `deliver` returns `false` or the task is cancelled.
    ///
    /// - Parameter isListening: Called whenever the stream is open: all later changes are delivered.
    func run(_ isListening: () -> Void, _ deliver: ([WatchedChange]) -> Bool) async throws {
        var token: String?
        repeat {
            let response = try await open()
            // Skips changes before the first stream, but not those between two streams.
            if token == nil { token = try await end() } else if try await !fetch(&token, deliver) { return }
            isListening()
            var line: [UInt8] = []
            do {
                for try await chunk in response.body {
                    var isChange = false
                    for byte in chunk.readableBytesView {
                        if byte == UInt8(ascii: "\n") {
                            isChange = isChange || line.contains { $0 != UInt8(ascii: "\r") }
                            line.removeAll(keepingCapacity: true)
                        } else if line.count < Self.lineBytesMax {
                            line.append(byte)
                        }
                    }
                    if isChange, try await !fetch(&token, deliver) { return }
                }
            } catch let error as HTTPClientError where error == .readTimeout || error == .remoteConnectionClosed {
                continue
            }
        } while !Task.isCancelled
    }

    private func open() async throws -> HTTPClientResponse {
        let path = DevicePath(containerIdentifier: container, environment: environment, operation: .pushStream).path
        var request = HTTPClientRequest(url: "\(server)\(path)?database=\(DatabaseScope.public.rawValue)")
        request.headers.add(name: HeaderNames.capabilities, value: Capability.headerValue([.pushStream, .publicChanges]))
        let response: HTTPClientResponse
        do {
            response = try await RemoteClient.shared.get().execute(request, deadline: .distantFuture)
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("The server \(server) cannot be reached: 'tarn doctor --server \(server)' says why.")
        }
        guard response.status == .ok else {
            throw CommandError(
                "The server \(server) has no change feed of the public database (HTTP status \(response.status.code)): update it, or leave public-changes out of its setting without."
            )
        }
        return response
    }

    /// The sync token of the present state.
    private func end() async throws -> String {
        var token: String?
        var positions = PagePositions()
        while true {
            let page = try await database.changes(after: token)
            guard page.moreComing else { return page.syncToken }
            guard positions.advance(from: token, to: page.syncToken) else { throw CommandError.repeatedPage }
            token = page.syncToken
        }
    }

    private func fetch(_ token: inout String?, _ deliver: ([WatchedChange]) -> Bool) async throws -> Bool {
        var positions = PagePositions()
        while true {
            let page = try await database.changes(after: token)
            let isLast = !page.moreComing
            if !isLast, !positions.advance(from: token, to: page.syncToken) { throw CommandError.repeatedPage }
            token = page.syncToken
            let changes = page.records.map { WatchedChange($0, database: DatabaseScope.public.rawValue, zone: page.zoneID.zoneName) }
            guard deliver(changes) else { return false }
            if isLast { return true }
        }
    }
}
