// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import ServiceFixtures
import SystemSupport
import TestBasics
import Testing

@testable import CloudConsole

/// Sizes, charts, settings and the request log.
@Suite struct StatusPagesTests {
    private static func note(_ village: Village, status: Int = 200, milliseconds: Double = 5, path: String = "") -> RequestNote {
        RequestNote(
            time: village.clock.now, method: "POST", endpoint: "records/modify", status: status, errorCode: nil, milliseconds: milliseconds,
            requestUUID: "r",
            path: path)
    }

    @Test func chartsShowTheRequestsOfTheLastDay() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for _ in 0..<3 { visitor.console.note(Self.note(village)) }
        village.clock.advance(seconds: 60)
        visitor.console.note(Self.note(village, status: 503, milliseconds: 30))
        visitor.console.note(Self.note(village, status: 404, milliseconds: 10))
        let page = await visitor.get("/console/status").text
        #expect(page.contains("Requests a minute in the last 24 hours: now 2, at most 3"))
        #expect(page.contains("Server errors a minute in the last 24 hours: now 1, at most 1"))
        #expect(page.contains("Client errors a minute in the last 24 hours: now 1, at most 1"))
        #expect(page.contains("A bar is the greatest minute of 6."))
        // Two minutes share a bar.
        #expect(page.components("<rect ") == 5)
        village.clock.advance(seconds: 1439 * 60)
        // The session expired.
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        let later = await visitor.get("/console/status").text
        #expect(later.contains("Requests a minute in the last 24 hours: now 0, at most 2"))
        #expect(later.contains("<dt class=\"faint\">Requests in the last hour</dt><dd>0</dd>"))
        village.clock.advance(seconds: 60)
        #expect(await visitor.get("/console/status").text.contains("Requests a minute in the last 24 hours: now 0, at most 0"))
    }

    @Test func theHealthOfTheServerIsShown() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        #expect(await visitor.get("/console/status").text.contains("The server is healthy"))
        visitor.console.note(Self.note(village, status: 503))
        let console = Console(service: village.service, storage: village.store) {
            ServerMeasures(listeners: 0, recordBytes: 0, assetBytes: 0, commits: 0, freeBytes: 100_000_000)
        }
        let failed = await visitor.get("/console/status").text
        #expect(failed.contains("1 request of the last hour failed by an error of the server"))
        #expect(!failed.contains("The server is healthy"))
        let other = BrowserSession(village, console: console)
        _ = await other.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(await other.get("/console/status").text.contains("100.0 MB are free on the data folder&#39;s disk"))
    }

    @Test func aChartHasAtMost240Bars() throws {
        var numbers = [Double](repeating: 0, count: ServerHistory.minutesKept)
        numbers[100] = 8
        numbers[1000] = 2
        let bars = try #require(Chart("x", numbers).values["bars"] as? [[String: Any]])
        #expect(bars.map { $0["x"] as? Int } == [96, 996])
        #expect(bars.map { $0["height"] as? Int } == [60, 15])
        #expect(Chart("x", numbers).values["width"] as? Int == 1440)
    }

    @Test func quantilesAreThoseOfTheirBuckets() {
        var latency = LatencyHistogram()
        #expect(latency.quantile(0.5) == 0)
        latency.add(5)
        #expect((4...5).contains(latency.quantile(0.5)))
        #expect(latency.quantile(0.99) == 5)
        for _ in 0..<98 { latency.add(10) }
        latency.add(60_000)
        #expect((8...11.4).contains(latency.quantile(0.5)))
        #expect((8...11.4).contains(latency.quantile(0.99)))
        #expect(latency.quantile(1) == 60_000)
    }

    @Test func pollsDoNotCountAsLatency() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        var poll = Self.note(village, milliseconds: 30_000)
        poll.endpoint = "courier"
        visitor.console.note(poll)
        let page = await visitor.get("/console/status").text
        #expect(page.contains("Requests a minute in the last 24 hours: now 1, at most 1"))
        #expect(page.contains("Median latency in the last 24 hours: now 0 ms, at most 0 ms"))
    }

    @Test func failedRequestsOfThePastAreListed() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        #expect(await visitor.get("/console/log/kept").status == 404)
        let files = RequestFiles(data: village.folder.path)
        let other = BrowserSession(
            village, console: Console(service: village.service, storage: village.store, requestArchive: files))
        _ = await other.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(await other.get("/console/log").text.contains("/console/log/kept"))
        #expect(await other.get("/console/log/kept").text.contains("No requests."))
        for number in 0..<150 {
            var note = Self.note(village, status: 503, path: "/database/1/iCloud.org.example.notes/development/private/records/modify")
            note.requestUUID = "r\(number)."
            other.console.note(note)
        }
        let first = await other.get("/console/log/kept").text
        #expect(first.contains(">r149.<"))
        #expect(first.contains("iCloud.org.example.notes development private"))
        #expect(!first.contains(">r49.<"))
        let start = try #require(first.range(of: #"href="/console/log/kept?"#)?.upperBound)
        let older = first[start...].prefix { $0 != "\"" }.replacing("&amp;", with: "&")
        #expect(await other.get("/console/log/kept?" + older).text.contains(">r49.<"))
        #expect(await other.get("/console/log/kept?q=r14.").text.contains(">r14.<"))
        #expect(await !other.get("/console/log/kept?q=%3Cb%3E").text.contains("<b>"))
    }

    @Test func serverMeasuresAreChartedIfTheServerProvidesThem() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        #expect(await !visitor.get("/console/status").text.contains("Connected devices"))
        let console = Console(service: village.service, storage: village.store, settings: [("address", "<http>")]) {
            ServerMeasures(listeners: 7, recordBytes: 2_500_000, assetBytes: 1_000_000, commits: 9)
        }
        let other = BrowserSession(village, console: console)
        _ = await other.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        let page = await other.get("/console/status").text
        #expect(page.contains("Connected devices in the last 24 hours: now 7, at most 7"))
        #expect(page.contains("Storage in the last 24 hours: now 3.5 MB"))
        let settings = await other.get("/console/settings").text
        #expect(settings.contains("&lt;http&gt;"))
        #expect(settings.contains("<code>recordBytes</code>"))
    }

    @Test func versionsAndUptimeAreShownToOperatorsOnly() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = BrowserSession(village, console: Console(service: village.service, storage: village.store, databaseFormat: 77))
        #expect(await !visitor.get("/console").text.contains(TarnVersion.current))
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        village.clock.advance(seconds: 1500)
        #expect(await visitor.get("/console").text.contains("Tarn \(TarnVersion.current) · database format 77 · up 25 min"))
        let settings = await visitor.get("/console/settings").text
        #expect(settings.contains("version: <code>\(TarnVersion.current)</code>"))
        #expect(settings.contains("database format: <code>77</code>"))
        #expect(settings.contains("UTC, for 25 min"))
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = false }
        #expect(await !visitor.get("/console").text.contains(TarnVersion.current))
    }

    @Test(
        arguments: [
            (-1, "0 min"), (59_999, "0 min"), (3_600_000, "1 h 0 min"), (86_399_999, "23 h 59 min"), (90_000_000, "1 d 1 h"),
        ] as [(Int64, String)])
    func durationsHaveTwoUnits(_ milliseconds: Int64, _ text: String) { #expect(FieldText.duration(milliseconds) == text) }

    @Test func freeSpaceAndTheLastBackupAreShown() async throws {
        struct Backups: ServerBackups {
            let folder = "/backups"
            let state = BackupState.idle
            func backups() async throws -> [ServerBackup] {
                [ServerBackup(path: "/backups/2030-03-17T17-46-40Z", databaseBytes: 1), ServerBackup(path: "/backups/x", databaseBytes: 1)]
            }
            func begin(now: Int64) -> Bool { false }
            func beginCheck(of name: String, now: Int64) -> Bool { false }
        }
        let (village, plain) = try await BrowserSession.signedIn()
        #expect(await !plain.get("/console/status").text.contains("Last backup"))
        let console = Console(service: village.service, storage: village.store, backups: Backups()) {
            ServerMeasures(listeners: 0, recordBytes: 0, assetBytes: 0, commits: 0, freeBytes: 12_300_000_000)
        }
        let visitor = BrowserSession(village, console: console)
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        let page = await visitor.get("/console/status").text
        #expect(page.contains("12.3 GB"))
        #expect(page.contains("2030-03-17T17-46-40Z"))
    }

    @Test func containersAreListedWithSizeAndLastUse() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let page = await visitor.get("/console").text
        #expect(page.contains("2 databases"))
        #expect(page.contains("0 databases"))
        #expect(!page.contains("Last request"))
        visitor.console.note(Self.note(village, path: "/database/1/\(Village.container)/development/private/records/modify"))
        #expect(await visitor.get("/console").text.contains("Last request 2030-03-17 17:46:40"))
        let usage = try await village.store.containerUsage()
        #expect(usage.map(\.databases) == [2])
        #expect(usage[0].usage.records > 0)
    }

    @Test func containersAreListedWithTheirCounts() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let page = await visitor.get("/console").text
        #expect(page.contains("1 user · "))
        #expect(page.contains(" · 1 record · last change 2030-03-17 17:46:40.000 UTC"))
        let bo = try await village.villager("bo")
        try await bo.modify([RecordOperation(.create, .plant("a")), RecordOperation(.create, .plant("b"))])
        // Counts are those of the last minute.
        village.clock.advance(seconds: 59)
        #expect(await visitor.get("/console").text.contains(" · 1 record · "))
        village.clock.advance(seconds: 1)
        let later = await visitor.get("/console").text
        #expect(later.contains("2 users · "))
        #expect(later.contains(" · 3 records · "))
        #expect(!later.contains("counted"))
    }

    @Test func aNewContainerIsCountedAtOnce() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let sizes = ContainerSizes()
        let usage = try await village.store.containerUsage()
        #expect(try await sizes.counts([], village.service)?.sizes.isEmpty == true)
        #expect(try await sizes.counts(usage, village.service)?.sizes.map(\.records) == [1])
    }

    @Test func countsThatEndedAtTheirBoundsAreMarked() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        var bounds = CountBounds()
        bounds.databases = 0
        var console = visitor.console
        console.sizes = ContainerSizes(bounds: bounds)
        let other = BrowserSession(village, console: console)
        _ = await other.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        let page = await other.get("/console").text
        #expect(page.contains("1 user · 0+ zones · 0+ records"))
        #expect(!page.contains("last change"))
    }

    @Test func aLargeServerCountsInTheBackground() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let sizes = ContainerSizes()
        var usage = try await village.store.containerUsage()
        usage[0].usage.records = 1_000_000_000
        #expect(try await sizes.counts(usage, village.service) == nil)
        let (service, storage) = (village.service, village.store)
        let task = Task { await sizes.countInBackground(storage, service) }
        var counted: ContainerSizes.Counted?
        while counted == nil {
            await Task.yield()
            counted = try await sizes.counts(usage, village.service)
        }
        task.cancel()
        await task.value
        #expect(counted?.sizes.map(\.records) == [1])
        village.clock.advance(seconds: 599)
        #expect(try await sizes.counts(usage, village.service)?.time == counted?.time)
        #expect(await visitor.get("/console").status == 200)
    }

    @Test func theRequestLogNamesContainersAndContainsNoSecrets() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for path in [
            "/database/1/\(Village.container)/development/private/records/modify",
            "/database/1/\(Village.container)/production/push/stream",
            "/asset/secret-token", "/database/1/..%2F/x/y", "/database/",
        ] {
            visitor.console.note(Self.note(village, path: path))
        }
        let log = await visitor.get("/console/log.json").text
        #expect(log.contains(#""place":"\#(Village.container) development private""#))
        #expect(log.contains(#""place":"\#(Village.container) production""#))
        #expect(!log.contains("secret-token"))
        #expect(!log.contains("%2F"))
    }
}

extension String {
    /// Occurrences of a text.
    fileprivate func components(_ text: String) -> Int { split(separator: text, omittingEmptySubsequences: false).count - 1 }
}
