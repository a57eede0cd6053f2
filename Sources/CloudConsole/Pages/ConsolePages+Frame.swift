// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The frame around each page: its menu, the operator's name and the container's address.
extension ConsolePages {
    /// A problem on a page with the person's name, Sign out and, for an operator, the menu.
    func problem(_ text: String, status: Int, _ visit: Visit) -> ServiceResponse {
        page("problem", Page.values(ofProblem: text), title: Page.title(ofStatus: status), visit, status: status)
    }

    func problem(_ error: any Error, _ visit: Visit) -> ServiceResponse {
        let failure = Page.failure(error)
        var response = problem(failure.text, status: failure.status, visit)
        if let seconds = failure.retryAfter { response.headers.append((HeaderNames.retryAfter, String(seconds))) }
        return response
    }

    /// The server's versions and uptime, for the footer. Others than operators don't see them.
    private var about: String {
        let format = console.databaseFormat.map { " · database format \($0)" } ?? ""
        return "Tarn \(TarnVersion.current)\(format) · up \(FieldText.duration(console.service.now - console.started))"
    }

    /// A page with the menu and the operator's name. Other people have no menu.
    func page(
        _ template: String, _ values: [String: Any], title: String, _ visit: Visit, container: String? = nil,
        environment: CloudEnvironment = .development, scripts: [String] = [], status: Int = 200
    ) -> ServiceResponse {
        // Each page has a letter of its own, for the keyboard.
        var menu = [MenuItem("Containers", "/console", key: "c")]
        if let container {
            let base = "/console/c/\(container)/\(environment.rawValue)"
            menu += [
                MenuItem("Types", base + "/types", key: "t"), MenuItem("Records", base + "/records", key: "r"),
                MenuItem("Zones", base + "/zones", key: "z"), MenuItem("Subscriptions", base + "/subscriptions", key: "b"),
                MenuItem("Schema", base + "/schema", key: "s"), MenuItem("Roles", base + "/roles", key: "o"),
                MenuItem("Tokens", base + "/tokens", key: "k"), MenuItem("Reach", base + "/reach", key: "e"),
            ]
        }
        menu += [
            MenuItem("Users", "/console/users", key: "u"), MenuItem("Devices", "/console/devices", key: "d"),
            MenuItem("Log", "/console/log", key: "l"),
            MenuItem("Status", "/console/status", key: "h"), MenuItem("Audit", "/console/audit", key: "a"),
            MenuItem("Settings", "/console/settings", key: "i"), MenuItem("Backups", "/console/backups", key: "y"),
            MenuItem("Second factor", "/console/second-factor", key: "f"),
        ]
        var values = values
        if let container {
            let other: CloudEnvironment = environment == .development ? .production : .development
            values["container"] = container
            values["environment"] = environment.rawValue
            if environment == .production { values["isProduction"] = true }
            values["other"] = "to \(other.rawValue)"
            values["otherAddress"] = "/console/c/\(container)/\(other.rawValue)/\(visit.path.dropFirst(3).first ?? "types")"
            values["base"] = "/console/c/\(container)/\(environment.rawValue)"
            if let consent = visit.consent(for: container, environment) {
                values["consent"] = ["person": consent.accountName, "until": FieldText.date(consent.until)]
            }
        }
        return Page.html(
            template, values, title: title, status: status,
            menu: (visit.profile.isOperator ? menu : []).map { item -> [String: Any] in
                let isAbove = item.address != "/console" && visit.request.path.hasPrefix(item.address + "/")
                return [
                    "name": item.name, "address": item.address, "key": item.key, "isHere": visit.request.path == item.address || isAbove,
                ]
            },
            person: visit.profile.accountName, about: visit.profile.isOperator ? about : nil, form: visit.form, scripts: scripts,
            headers: visit.headers)
    }
}

/// A page in the menu.
private struct MenuItem {
    let name: String
    let address: String
    /// The letter that opens it after `g`.
    let key: String

    init(_ name: String, _ address: String, key: String) {
        self.name = name
        self.address = address
        self.key = key
    }
}
