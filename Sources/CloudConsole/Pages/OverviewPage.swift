// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The containers of the server with their sizes: `/console`.
struct OverviewPage {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private var console: Console { pages.console }

    func respond() async throws -> ServiceResponse {
        let usage = try await console.storage.containerUsage()
        let counted = try await console.sizes.counts(usage, console.service)
        let containers = try await console.storage.containers().map { name -> [String: Any] in
            var container: [String: Any] = [
                "name": name,
                "environments": CloudEnvironment.allCases.map { environment -> [String: Any] in
                    let one = usage.first { $0.containerIdentifier == name && $0.environment == environment }
                    return row(name, environment, one, counted?.size(of: name, one))
                },
            ]
            if let time = console.history.lastUse(of: name) { container["lastUse"] = FieldText.date(time) }
            return container
        }
        var values: [String: Any] = ["containers": containers]
        if let counted {
            let age = console.service.now - counted.time
            if age >= 60_000 { values["age"] = FieldText.duration(age) }
        } else {
            values["isCounting"] = true
        }
        return pages.page("overview", values, title: "Containers", visit)
    }

    private func row(
        _ name: String, _ environment: CloudEnvironment, _ usage: ContainerUsage?, _ size: ContainerSize?
    ) -> [String: Any] {
        var row: [String: Any] = [
            "address": "/console/c/\(name)/\(environment.rawValue)/types",
            "name": environment == .development ? "Development" : "Production",
            "databases": CountText.text(usage?.databases ?? 0, "database"),
            "recordBytes": FieldText.bytes(usage?.usage.records ?? 0), "files": FieldText.bytes(usage?.usage.assets ?? 0),
        ]
        if let size {
            var counts: [String: Any] = [
                "users": CountText.text(size.users, "user"), "zones": Self.text(size.zones, "zone", size),
                "records": Self.text(size.records, "record", size),
            ]
            if let time = size.lastChange { counts["lastChange"] = FieldText.date(time) }
            row["counts"] = counts
        }
        return row
    }
    /// `1000000+ records` for a count that ended at its bounds.
    private static func text(_ count: Int, _ noun: String, _ size: ContainerSize) -> String {
        size.isPartial ? "\(count)+ \(noun)s" : CountText.text(count, noun)
    }
}
