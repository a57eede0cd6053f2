// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import Testing

@testable import TarnCommands

/// The whole loop on real processes and sockets.
@Suite(.tags(.slow), .serialized) struct DemoTests {
    private struct Report: Decodable {
        var converged: Bool
        var objects: Int
        var rounds: Int
        var latencyMillisecondsP50: Double
        var latencyMillisecondsP99: Double
    }

    @Test(.timeLimit(.minutes(10)))
    func twoDevicesConvergeThroughOfflineEditsAndCrashes() async throws {
        let folder = try Folder()
        let ended = try await Programs.run(
            "tarn", ["demo", "--check", "--json", "--rounds", "5", "--data", folder.path("check")], in: folder, atMost: .seconds(540))
        #expect(ended.status == 0, "\(ended.complaint)")
        let lines = ended.output.split(separator: "\n")
        #expect(lines.count == 1, "one line of JSON and nothing else goes to standard output")
        let report = try JSONDecoder().decode(Report.self, from: Data((lines.first ?? "").utf8))
        #expect(report.converged)
        // One post edited offline, two posts in each round, and the exports during the two crashes: posts and a tag.
        #expect(report.objects == 1 + 2 * 5 + 2 * (800 + 1))
        #expect(report.rounds == 5)
        #expect(report.latencyMillisecondsP50 > 0)
        #expect(report.latencyMillisecondsP50 <= report.latencyMillisecondsP99)
    }

    @Test(.enabled("needs Chromium, and Playwright for Python") { await Browser.isThere() }, .timeLimit(.minutes(5)))
    func aPersonSeesOnOneSideWhatWasDoneOnTheOther() async throws {
        let folder = try Folder()
        let demo = try Browser.demo(in: folder)
        let address = try await demo.line(after: "tarn: demo at ")
        let ended = try await Browser.run(stage: address, in: folder)
        await demo.stop()
        #expect(ended.status == 0, "\(ended.complaint)")
        #expect(ended.output == "page: ok\n")
    }

    /// The server pane, the plugs, the conflict card and the tour.
    @Test(.enabled("needs Chromium, and Playwright for Python") { await Browser.isThere() }, .timeLimit(.minutes(5)))
    func aPersonPullsPlugsAndLosesNothing() async throws {
        let folder = try Folder()
        let demo = try Browser.demo(in: folder)
        let address = try await demo.line(after: "tarn: demo at ")
        let ended = try await Browser.run("stage_test.py", [address], in: folder)
        await demo.stop()
        #expect(ended.status == 0, "\(ended.complaint)")
        #expect(ended.output == "stage: ok\n")
    }

    /// The parent process is killed, and cannot notify its children.
    @Test(.timeLimit(.minutes(10)))
    func noProcessOutlivesTheDemo() async throws {
        let folder = try Folder()
        let demo = try Browser.demo(in: folder)
        let address = try await demo.line(after: "tarn: demo at ")
        let stage = try await Browser.text(of: address)
        let devices = stage.matches(of: /src="(http[^"]+)"/).map { String($0.1) }
        #expect(devices.count == 2)
        var streams: [HTTPClientResponse.Body.AsyncIterator] = []
        for device in devices { streams.append(try await Browser.events(of: device)) }
        await demo.crash()
        // A device's stream of events ends with its process, and would go on for hours otherwise.
        for index in streams.indices { try await Browser.waitForTheEnd(of: &streams[index]) }
    }
}
