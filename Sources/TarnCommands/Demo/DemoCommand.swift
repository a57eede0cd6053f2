// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// `tarn demo`: a server and two devices on one machine, for a person or as a check.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Run a server and two devices, and show both on one page.",
        discussion: Help.discussion(
            """
            The page is at --port; the devices and the server take the three ports after it. Ctrl-C ends all of them. The page kills \
            and starts each of them, cuts networks, and shows what becomes of the saves.

            With --check nothing is shown: a scenario runs against the devices and ends with exit code 0 if both \
            have the same in the end and nothing saved was lost or doubled.
            """, examples: "tarn demo", "tarn demo --port 9000", "tarn demo --share-on-network", "tarn demo --check --json"))

    @Option(help: ArgumentHelp("Port of the page on 127.0.0.1; 0 lets the system choose all ports.", valueName: "port"))
    var port = 8400
    @Option(help: ArgumentHelp("Folder for what server and devices keep. A check uses a temporary one.", valueName: "folder"))
    var data: String?
    @Flag(help: "Offer the third device to phones in the local network, by a link with a key. Nothing is encrypted.")
    var shareOnNetwork = false
    @Flag(help: "Run the scenario instead of showing the page.")
    var check = false
    @Flag(help: "With --check: print one line of JSON and nothing else to standard output.")
    var json = false
    @Option(
        help: ArgumentHelp("With --check: how often each device saves one post to measure how soon the other shows it.", valueName: "count")
    )
    var rounds = 50
    @Flag(help: ArgumentHelp("End when standard input ends.", visibility: .hidden))
    var exitWithParent = false

    func validate() throws {
        guard 0...65532 ~= port else { throw ValidationError("A port is a number from 0 to 65532: the three after it are used as well.") }
        guard 1...10_000 ~= rounds else { throw ValidationError("The rounds are a number from 1 to 10000.") }
        guard !check || !shareOnNetwork else {
            throw ValidationError("--share-on-network shows a page; --check shows none.")
        }
        guard check || !json else { throw ValidationError("--json goes with --check.") }
    }

    func run() async throws {
        if exitWithParent { ParentProcess.exitWhenGone() }
        if check { try await runCheck() } else { try await show() }
    }

    // MARK: To look at

    private static var defaultFolder: URL {
        let environment = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = FileManager.default.homeDirectoryForCurrentUser
        let base = environment.map { URL(fileURLWithPath: $0) } ?? home.appendingPathComponent(".local/share")
        return base.appendingPathComponent("tarn/demo")
    }

    private func show() async throws {
        let folder = data.map { URL(fileURLWithPath: $0) } ?? Self.defaultFolder
        var ports = DemoCast.Ports()
        if port != 0, let taken = (port...port + 3).first(where: { !LocalPort.isFree($0) }) {
            throw CommandError(
                "Port \(taken) is in use. The demo takes the ports \(port) to \(port + 3): "
                    + "choose others with --port, or 0 to let the system choose.")
        }
        if port != 0 { ports = DemoCast.Ports(server: port + 3, devices: [.iPad: port + 1, .iPhone: port + 2]) }
        let place = shareOnNetwork ? try GuestPlace.inLocalNetwork() : nil
        let (serverLog, receiveLog) = AsyncStream.makeStream(of: Data.self)
        let cast = try DemoCast(folder: folder, ports: ports, guestPlace: place) { receiveLog.yield($0) }
        do {
            let stage = DemoStage(cast: cast, guestPlace: place)
            Task { await stage.follow(serverLog: serverLog) }
            try await stage.startServer()
            var sides: [StagePage.Side] = []
            for device in DemoCast.Device.pair {
                try await stage.start(device)
                sides.append(.init(name: device.rawValue, address: await stage.remote(device)?.address ?? ""))
            }
            let page = StagePage(sides: sides).application(stage: stage, port: port) { port in
                Output.line("tarn: demo at http://127.0.0.1:\(port)")
                Output.note("The data is in \(folder.path). Ctrl-C ends the demo.")
            }
            let group = ServiceGroup(
                services: [CastService(cast: cast), page], gracefulShutdownSignals: [.sigterm, .sigint], logger: page.logger)
            try await group.run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            await cast.stop()
            throw CommandError("Port \(port) is in use: choose another with --port, or 0 to let the system choose.")
        } catch {
            await cast.stop()
            throw error
        }
    }

    // MARK: To check

    private func runCheck() async throws {
        let temporary = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-check-\(UUID().uuidString)")
        let folder = data.map { URL(fileURLWithPath: $0) } ?? temporary
        let cast = try DemoCast(folder: folder, ports: DemoCast.Ports())
        let scenario = DemoCheck(cast: cast, rounds: rounds) { text in
            if !json { Output.line(text) }
        }
        let outcome = await scenario.run()
        await cast.stop()
        if json {
            Output.line(outcome.report.json)
        } else if outcome.problem == nil {
            Output.line(outcome.report.summary)
        }
        if let problem = outcome.problem {
            throw CommandError("\(problem) Stores and logs are kept in \(folder.path).")
        }
        if data == nil { try? FileManager.default.removeItem(at: folder) }
    }
}

/// The processes behind the page.
private struct CastService: Service {
    let cast: DemoCast

    func run() async throws {
        try? await gracefulShutdown()
        await cast.stop()
    }
}
