// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// How the server is: charts of the last 24 hours, and the settings it runs with.
struct StatusPages {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private var console: Console { pages.console }

    func status() async throws -> ServiceResponse {
        let now = console.service.now
        await console.measure()
        let minutes = console.history.minutes(now: now)
        let hour = minutes.suffix(60)
        let requests = hour.reduce(0) { $0 + $1.requests }
        let errors = hour.reduce(0) { $0 + $1.errors }
        let clientErrors = hour.reduce(0) { $0 + $1.clientErrors }
        let measures = minutes.last?.measures
        var charts = [
            Chart("Requests a minute", minutes.map { Double($0.requests) }),
            Chart("Server errors a minute", minutes.map { Double($0.errors) }),
            Chart("Client errors a minute", minutes.map { Double($0.clientErrors) }),
            Chart("Median latency", minutes.map { $0.latency.quantile(0.5) }, unit: " ms"),
            Chart("99th percentile of latency", minutes.map { $0.latency.quantile(0.99) }, unit: " ms"),
        ]
        if measures != nil {
            charts += [
                Chart("Connected devices", minutes.map { Double($0.measures?.listeners ?? 0) }),
                Chart(
                    "Storage", minutes.map { Double(($0.measures?.recordBytes ?? 0) + ($0.measures?.assetBytes ?? 0)) / 1_000_000 },
                    unit: " MB"),
            ]
        }
        var facts: [[String: Any]] = [
            ["name": "Running since", "value": "\(FieldText.date(console.started)) UTC"],
            ["name": "Requests in the last hour", "value": "\(requests)"],
            ["name": "Server errors in the last hour", "value": "\(errors)"],
            ["name": "Client errors in the last hour", "value": "\(clientErrors)"],
        ]
        if let measures {
            facts += [
                ["name": "Records", "value": FieldText.bytes(measures.recordBytes)],
                ["name": "Files", "value": FieldText.bytes(measures.assetBytes)],
                ["name": "Connected devices", "value": "\(measures.listeners)"],
                ["name": "Commits since the start", "value": "\(measures.commits)"],
            ]
            if let bytes = measures.freeBytes { facts.append(["name": "Free on the data folder's disk", "value": FieldText.bytes(bytes)]) }
        }
        var warnings = await warnings(errors: errors, freeBytes: measures?.freeBytes)
        if let backups = console.backups {
            let found = try await backups.backups()
            facts.append(["name": "Last backup", "value": found.first?.name ?? "none"])
            warnings += found.filter { $0.check?.faults.isEmpty == false }.map { "The check of the backup \($0.name) found faults." }
        }
        let values: [String: Any] = [
            "facts": facts, "charts": charts.map(\.values), "minutes": Chart.minutesPerBar, "warnings": warnings,
        ]
        return pages.page("status", values, title: "Status", visit)
    }

    /// Free bytes of the disk below which `tarn doctor` warns, too.
    private static let freeBytesLow: Int64 = 2_000_000_000

    /// Sentences about the health of the server; empty for a healthy one.
    private func warnings(errors: Int, freeBytes: Int64?) async -> [String] {
        var warnings: [String] = []
        let ready = await console.service.respond(to: ServiceRequest(method: "GET", path: "/ready", body: .bytes([]), baseURL: ""))
        if ready.status != 200 { warnings.append("The server is not ready: its data cannot be read in time.") }
        if let freeBytes, freeBytes < Self.freeBytesLow {
            warnings.append("\(FieldText.bytes(freeBytes)) are free on the data folder's disk: a full disk refuses all writes.")
        }
        if errors > 0 {
            warnings.append("\(CountText.text(errors, "request")) of the last hour failed by an error of the server: the log has them.")
        }
        return warnings
    }

    func settings() -> ServiceResponse {
        let limits = console.service.engine.limits
        let rows = Limits.settings.map { setting -> [String: Any] in
            ["name": setting.name, "value": "\(limits[keyPath: setting.key])", "what": setting.what]
        }
        var facts = [["name": "version", "value": TarnVersion.current]]
        if let format = console.databaseFormat { facts.append(["name": "database format", "value": "\(format)"]) }
        let uptime = FieldText.duration(console.service.now - console.started)
        facts.append(["name": "running since", "value": "\(FieldText.date(console.started)) UTC, for \(uptime)"])
        let settings = facts + console.settings.map { ["name": $0.name, "value": $0.value] }
        return pages.page("settings", ["settings": settings, "limits": rows], title: "Settings", visit)
    }
}

/// Bars of the last 24 hours, as a drawing in the page. A bar is the greatest of its minutes, so that peaks stay visible.
struct Chart {
    private static let (barWidth, height, barsMax) = (6, 60, 240)
    static let minutesPerBar = (ServerHistory.minutesKept + barsMax - 1) / barsMax

    let name: String
    /// By minute, oldest first.
    let numbers: [Double]
    let unit: String

    init(_ name: String, _ numbers: [Double], unit: String = "") {
        self.name = name
        self.numbers = numbers
        self.unit = unit
    }

    private func text(_ number: Double) -> String {
        let rounded = (number * 10).rounded() / 10
        return (rounded == rounded.rounded() ? String(Int64(rounded)) : String(rounded)) + unit
    }

    private var bars: [Double] {
        stride(from: 0, to: numbers.count, by: Self.minutesPerBar).map { start in
            numbers[start..<min(numbers.count, start + Self.minutesPerBar)].max() ?? 0
        }
    }

    /// Values of the template `chart`.
    var values: [String: Any] {
        let bars = bars
        let most = bars.max() ?? 0
        let latest = numbers.last ?? 0
        return [
            "name": name, "latest": text(latest), "most": text(most), "width": bars.count * Self.barWidth,
            "label": "\(name) in the last 24 hours: now \(text(latest)), at most \(text(most))",
            "bars": bars.enumerated().compactMap { index, number -> [String: Any]? in
                guard most > 0, number > 0 else { return nil }
                let height = max(1, Int((number / most * Double(Self.height)).rounded()))
                return ["x": index * Self.barWidth, "y": Self.height - height, "height": height]
            },
        ]
    }
}
