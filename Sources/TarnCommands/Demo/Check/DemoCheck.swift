// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The scenario of `tarn demo --check`: a server and two devices, controlled by the devices' HTTP interface.
///
/// Each step waits for events of the devices, with a deadline, and neither sleeps nor polls.
struct DemoCheck: Sendable {
    typealias Device = DemoCast.Device

    struct Outcome: Sendable {
        var report: CheckReport
        /// A sentence about the failed step; nil if all succeeded.
        var problem: String?
    }

    /// Deadline for both devices to converge. After a server's crash, devices retry with exponential backoff.
    static let agreeWithin = Duration.seconds(120)

    let cast: DemoCast
    let rounds: Int
    let say: @Sendable (String) -> Void
    let watch = DeviceWatch()

    init(cast: DemoCast, rounds: Int, say: @escaping @Sendable (String) -> Void) {
        self.cast = cast
        self.rounds = rounds
        self.say = say
    }

    /// Runs all steps, and stops at the first that fails.
    func run() async -> Outcome {
        var report = CheckReport(rounds: rounds)
        var remotes: [Device: DeviceRemote] = [:]
        do {
            try await step("a server and two devices start") {
                try await cast.startServer()
                for device in Device.pair { remotes[device] = try await start(device) }
                try await agree("both devices are ready") { $0.content.isEmpty }
            }
            guard let iPad = remotes[.iPad], let iPhone = remotes[.iPhone] else {
                preconditionFailure("both devices were started by the step before")
            }
            try await step("rows made on each device appear on the other") { try await makeRows(iPad, iPhone) }
            try await step("each device deletes the other's rows, at the same time") { try await deleteRows(iPad, iPhone) }
            try await step("both edit different fields of the same post while offline") { try await editOffline(iPad, iPhone) }
            try await step("a device with another version of the model shows the same, and edits travel both ways") {
                try await editInTwoVersions(iPad)
            }
            try await step("a device with TarnMirror converges with the others") { try await mirror(iPad) }
            try await step("\(2 * rounds) saves, one by one, in both directions") {
                report.latencies = try await measure(iPad, iPhone)
            }
            try await step("a device is killed while it exports, and starts again") { try await crashDevice(iPad) }
            try await step("the server is killed while a device exports, and starts again") { try await crashServer(iPhone) }
        } catch {
            report.objects = await watch[.iPad].objectCount
            return Outcome(report: report, problem: (error as? CommandError)?.description ?? "\(error)")
        }
        report.converged = true
        report.objects = await watch[.iPad].objectCount
        return Outcome(report: report)
    }

    private func step(_ what: String, _ body: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        do {
            try await body()
        } catch {
            let cause = (error as? CommandError)?.description ?? "\(error)"
            throw CommandError("The step '\(what)' failed. \(cause)")
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(100)).rounded() / 10
        say("ok  \(what) (\(seconds) s)")
    }

    @discardableResult func start(_ device: Device) async throws -> DeviceRemote {
        let address = try await cast.start(device)
        await watch.follow(device, at: address)
        return DeviceRemote(name: device.rawValue, address: address)
    }

    /// Waits until both devices, and another one, show the same, expected content and have no pending changes.
    func agree(_ what: String, with third: Device? = nil, on isRight: @escaping @Sendable (DeviceView) -> Bool) async throws {
        try await watch.wait(for: what, atMost: Self.agreeWithin) { views in
            // Cheap conditions first: each event evaluates them.
            guard let one = views[.iPad], one.isSettled, isRight(one) else { return false }
            return ([.iPhone] + [third].compactMap(\.self)).allSatisfy { device in
                guard let other = views[device], other.isSettled, other.objectCount == one.objectCount else { return false }
                return other.content == one.content
            }
        }
    }
}
