// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport

/// The server and the devices behind the page: starts and kills them, follows what they report, and publishes one state.
actor DemoStage {
    typealias Device = DemoCast.Device

    private static let logMax = 8

    nonisolated let cast: DemoCast
    nonisolated let guestPlace: GuestPlace?
    private var book = JourneyBook()
    private var views: [Device: DeviceView] = [:]
    private var power: [Device: StageState.Power] = [:]
    private var addresses: [Device: String] = [:]
    private var processes: [Device: Int32] = [:]
    private var server = StageState.ServerState(power: .off, address: "")
    private var log: [StageState.LogLine] = []
    private var incident: Incident?
    var performing: Int?

    private var logReader = ServerLogReader()
    private var published: StageState?
    private var isPublishPlanned = false
    private var pages: [Int: AsyncStream<StageState>.Continuation] = [:]
    private var nextPage = 0

    /// An interruption, and what its devices had shown until then.
    private struct Incident {
        var text: String
        var before: [String]
        /// nil until the interruption is over.
        var endedAt: ContinuousClock.Instant?
    }

    private(set) lazy var watch = DeviceWatch { [weak self] device, view, trace in await self?.note(device, view, trace) }

    init(cast: DemoCast, guestPlace: GuestPlace?) {
        self.cast = cast
        self.guestPlace = guestPlace
    }

    /// Reads the server's log until it ends.
    func follow(serverLog: AsyncStream<Data>) async {
        for await data in serverLog { note(serverLog: data) }
    }

    // MARK: Server

    func startServer() async throws {
        guard server.power == .off || server.power == .killed else { return }
        let isAgain = server.power == .killed
        server.power = .starting
        publish()
        do {
            server.address = try await cast.startServer()
        } catch {
            server.power = .killed
            say("The server did not start: \((error as? CommandError)?.description ?? "\(error)")")
            throw error
        }
        server.power = .running
        server.processID = await cast.serverProcessID
        if isAgain { say("The server runs again, as process \(server.processID ?? 0).") }
        endIncident()
        Task { [weak self, cast] in
            await cast.serverEnded()
            await self?.serverEnded()
        }
    }

    func killServer() async {
        guard server.power == .running else { return }
        begin("The server was killed")
        say("kill -9 \(server.processID ?? 0): the server is gone. Saves go on.", .kill)
        await cast.crashServer()
    }

    private func serverEnded() {
        server.power = .killed
        server.processID = nil
        publish()
    }

    // MARK: Devices

    func start(_ device: Device) async throws {
        let before = power[device] ?? .off
        guard before == .off || before == .killed else { return }
        power[device] = .starting
        publish()
        book.begin(device, at: Date().timeIntervalSince1970 * 1000)
        do {
            addresses[device] = try await cast.start(device)
        } catch {
            power[device] = before
            say("The \(device.rawValue) did not start: \((error as? CommandError)?.description ?? "\(error)")")
            throw error
        }
        power[device] = .running
        processes[device] = await cast.processID(of: device)
        if before == .killed { say("The \(device.rawValue) runs again, as process \(processes[device] ?? 0), with the store that it had.") }
        let cookie = device == .guest ? guestPlace.map { "posts-key=\($0.key)" } : nil
        await watch.follow(device, at: addresses[device] ?? "", cookie: cookie)
        endIncident()
        Task { [weak self, cast] in
            await cast.ended(device)
            await self?.ended(device)
        }
    }

    func kill(_ device: Device) async {
        guard power[device] == .running else { return }
        begin("The \(device.rawValue) was killed")
        let count = views[device]?.sync.pending ?? 0
        let unsent = count > 0 ? ", with \(CountText.text(count, "unsent record")) in its store" : ""
        say("kill -9 \(processes[device] ?? 0): the \(device.rawValue) is gone\(unsent).", .kill)
        await cast.crash(device)
    }

    private func ended(_ device: Device) {
        power[device] = .killed
        processes[device] = nil
        publish()
    }

    /// Cuts or restores the network between a device and the server, by the device's relay.
    func set(_ device: Device, isOnline: Bool) async throws {
        guard let remote = remote(device) else { return }
        if !isOnline { begin("The \(device.rawValue) had no network") }
        try await remote.goOnline(isOnline)
    }

    func remote(_ device: Device) -> DeviceRemote? {
        guard power[device] == .running, let address = addresses[device] else { return nil }
        // The guest's page may need a key; the demo itself never uses it.
        return DeviceRemote(name: device.rawValue, address: address)
    }

    func view(_ device: Device) -> DeviceView { views[device] ?? DeviceView() }

    // MARK: Reports

    private func note(_ device: Device, _ view: DeviceView, _ trace: DeviceTrace?) {
        let wasOnline = views[device]?.isOnline ?? true
        views[device] = view
        // Which saves reach another user depends on shares: the reports of that user's device do not tell.
        if let trace, device != .ben { book.note(trace, by: device) }
        if wasOnline, !view.isOnline {
            begin("The \(device.rawValue) had no network")
            say("The network of the \(device.rawValue) is cut: its relay breaks connections.", .cut)
        }
        if !wasOnline, view.isOnline {
            say("The \(device.rawValue) has its network again.")
            endIncident()
        }
        publish()
    }

    private func note(serverLog data: Data) {
        for request in logReader.requests(in: data) { book.note(request) }
        publish()
    }

    func say(_ text: String, _ kind: StageState.LogLine.Kind = .note) {
        log.append(StageState.LogLine(kind: kind, time: Date().timeIntervalSince1970 * 1000, text: text))
        if log.count > Self.logMax { log.removeFirst() }
        publish()
    }

    // MARK: Incidents

    private func begin(_ text: String) {
        guard incident == nil || incident?.endedAt != nil else { return }
        incident = Incident(text: text, before: Device.pair.flatMap { views[$0]?.content ?? [] })
    }

    private func endIncident() {
        let isOver = server.power == .running && Device.pair.allSatisfy { power[$0] == .running && views[$0]?.isOnline ?? true }
        if isOver, incident != nil { incident?.endedAt = .now }
        publish()
    }

    /// Reports what became of the interruption, once both devices show the same.
    private func concludeIncident(_ verdict: StageState.Verdict) {
        guard verdict.kind == .inStep, let incident, let end = incident.endedAt else { return }
        self.incident = nil
        let seconds = ((ContinuousClock.now - end) / .milliseconds(10)).rounded() / 100
        let after = Set(view(.iPad).content)
        let isComplete = Set(incident.before).isSubset(of: after)
        let loss = isComplete ? " All that was there before is there." : ""
        say("\(incident.text). \(seconds) s after its end, both devices show the same.\(loss)")
    }

    // MARK: Publishing

    /// Publishes after the reports that are waiting: a burst becomes one state.
    private func publish() {
        guard !isPublishPlanned else { return }
        isPublishPlanned = true
        Task { publishNow() }
    }

    private func publishNow() {
        isPublishPlanned = false
        let verdict = StageState.Verdict.of(views, power: { power[$0] ?? .off }, isServerRunning: server.power == .running)
        concludeIncident(verdict)
        let state = state(verdict)
        guard state != published else { return }
        published = state
        for page in pages.values { page.yield(state) }
    }

    private func state(_ verdict: StageState.Verdict) -> StageState {
        let devices = Device.allCases.map { device in
            let view = views[device] ?? DeviceView()
            return StageState.DeviceState(
                name: device, power: power[device] ?? .off, processID: processes[device], address: addresses[device],
                isOnline: view.isOnline, postCount: view.posts.count, pendingCount: view.sync.pending, conflictCount: view.conflictCount,
                phase: view.isConnected ? view.sync.phase : "absent")
        }
        let port = addresses[.guest].flatMap { URL(string: $0)?.port }
        let link = port.map { port in guestPlace?.link(port: port) ?? "http://127.0.0.1:\(port)/" }
        return StageState(
            devices: devices, server: server, journeys: book.journeys, requests: book.requests, log: log, verdict: verdict,
            guest: StageState.Guest(isShared: guestPlace != nil, link: link), performing: performing)
    }

    /// The present state and each later one. A page that falls behind skips states.
    func states() -> AsyncStream<StageState> {
        let (stream, continuation) = AsyncStream.makeStream(of: StageState.self, bufferingPolicy: .bufferingNewest(1))
        let page = nextPage
        nextPage += 1
        pages[page] = continuation
        continuation.onTermination = { [weak self] _ in Task { [weak self] in await self?.close(page) } }
        continuation.yield(state(.of(views, power: { power[$0] ?? .off }, isServerRunning: server.power == .running)))
        return stream
    }

    private func close(_ page: Int) { pages[page] = nil }

    /// The link to the guest's page, once it runs.
    var guestLink: String? { state(.init(kind: .syncing, text: "")).guest.link }

    func setPerforming(_ step: Int?) {
        performing = step
        publish()
    }
}
