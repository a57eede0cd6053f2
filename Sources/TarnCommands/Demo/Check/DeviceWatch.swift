// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Follows the devices' event streams, and resumes waiters when a condition holds. It never polls.
actor DeviceWatch {
    typealias Views = [DemoCast.Device: DeviceView]

    /// Called for each event of a device, in order, and when its stream ends.
    typealias Report = @Sendable (DemoCast.Device, DeviceView, DeviceTrace?) async -> Void

    private let report: Report?
    private var views: Views = [:]
    private var waiters: [Int: Waiter] = [:]
    private var nextWaiter = 0
    private var streams: [DemoCast.Device: Task<Void, Never>] = [:]

    private struct Waiter {
        let isReached: @Sendable (Views) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    init(report: Report? = nil) { self.report = report }

    // MARK: Following

    /// Follows a running device until its process exits.
    ///
    /// - Parameter cookie: Of a page that needs a key.
    func follow(_ device: DemoCast.Device, at address: String, cookie: String? = nil) {
        streams[device]?.cancel()
        streams[device] = Task {
            do {
                var request = HTTPClientRequest(url: "\(address)/events")
                if let cookie { request.headers.add(name: "Cookie", value: cookie) }
                let response = try await HTTPClient.shared.execute(request, timeout: .hours(24))
                var parser = ServerEventParser()
                for try await bytes in response.body {
                    for event in parser.take(bytes.readableBytesView) { try await apply(event, from: device) }
                }
            } catch {
                // A killed device breaks its stream; waiters then see it as disconnected.
            }
            await didDisconnect(device)
        }
    }

    private func apply(_ event: ServerEvent, from device: DemoCast.Device) async throws {
        let trace = event.name == "trace" ? try JSONDecoder().decode(DeviceTrace.self, from: Data(event.data.utf8)) : nil
        if trace == nil {
            try views[device, default: DeviceView()].apply(event)
            resumeWaiters()
        }
        await report?(device, self[device], trace)
    }

    private func didDisconnect(_ device: DemoCast.Device) async {
        views[device]?.didDisconnect()
        resumeWaiters()
        await report?(device, self[device], nil)
    }

    // MARK: Waiting

    var current: Views { views }

    subscript(device: DemoCast.Device) -> DeviceView { views[device] ?? DeviceView() }

    /// Waits until `isReached` returns `true` for the views.
    ///
    /// - Throws: ``CommandError`` with the missed condition and the devices' states, at the deadline.
    func wait(for what: String, atMost limit: Duration, until isReached: @escaping @Sendable (Views) -> Bool) async throws {
        do {
            try await within(limit, "") { try await self.reach(isReached) }
        } catch is CommandError {
            let shown = DemoCast.Device.allCases.filter { DemoCast.Device.pair.contains($0) || views[$0]?.isConnected == true }.map {
                "\($0.rawValue) \((views[$0] ?? DeviceView()).summary)"
            }
            throw CommandError("Not reached within \(limit.components.seconds) s: \(what). \(shown.joined(separator: "; ")).")
        }
    }

    private func reach(_ isReached: @escaping @Sendable (Views) -> Bool) async throws {
        if isReached(views) { return }
        let number = nextWaiter
        nextWaiter += 1
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                waiters[number] = Waiter(isReached: isReached, continuation: continuation)
            }
        } onCancel: {
            Task { await self.cancel(number) }
        }
    }

    private func cancel(_ number: Int) {
        waiters.removeValue(forKey: number)?.continuation.resume(throwing: CancellationError())
    }

    private func resumeWaiters() {
        for (number, waiter) in waiters where waiter.isReached(views) {
            waiters[number] = nil
            waiter.continuation.resume()
        }
    }
}
