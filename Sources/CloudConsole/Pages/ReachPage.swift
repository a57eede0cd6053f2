// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire

/// Clients beyond apps on Linux, with the commands for this container: `…/reach`.
struct ReachPage {
    let parent: ContainerPages

    /// A part of the page: its text, and code to copy.
    private struct Part {
        var title: String
        var text: String
        var codes: [(caption: String, lines: [String])]
    }

    private var container: String { parent.container }
    private var environment: String { parent.environment.rawValue }
    /// The address of the apps, which the console's own address is not.
    private var server: String { parent.pages.console.serviceAddress ?? parent.visit.request.baseURL }

    func respond() async throws -> ServiceResponse {
        guard parent.pathComponents.count == 1, !parent.visit.isPost else {
            return parent.problem("This page does not exist.", status: 404)
        }
        let uses = parent.pages.console.history.lastUses(of: container).sorted {
            ($1.value, Self.name($0.key)) < ($0.value, Self.name($1.key))
        }
        let hasDifferences = try await !parent.schemas.differences().isEmpty
        var number = 0
        let parts = [iPhones, iCloud, versions].map { part -> [String: Any] in
            let codes = part.codes.map { code -> [String: Any] in
                number += 1
                return ["id": "code\(number)", "caption": code.caption, "text": code.lines.joined(separator: "\n")]
            }
            return ["title": part.title, "text": part.text, "codes": codes]
        }
        var values: [String: Any] = [
            "clients": uses.map { ["name": Self.name($0.key), "time": FieldText.date($0.value)] }, "parts": parts,
        ]
        if hasDifferences { values["differs"] = true }
        if !server.hasPrefix("https://") { values["isUnencrypted"] = true }
        return parent.page("reach", values, title: "Reach", scripts: ["/console-reach.js"])
    }

    private static func name(_ kind: ClientKind) -> String {
        switch kind {
        case .cloudKit: "Tarn’s CloudKit module: apps on Linux, tarn icloud"
        case .mirror: "TarnMirror: apps on Apple’s platforms"
        case .command: "tarn"
        case .browser: "Browsers, with CloudKit JS"
        case .other: "Other clients"
        }
    }

    // MARK: The three parts

    private var iPhones: Part {
        Part(
            title: "Apps on iPhones and Macs",
            text: "TarnMirror syncs the store of an NSPersistentContainer with this container. The token is that of a device: "
                + "make one on the page of its user. The guide is “Apps on Apple’s platforms”.",
            codes: [
                (
                    "In the app, after its store is loaded",
                    [
                        "var options = TarnMirror.Options(",
                        "    containerIdentifier: \(Self.literal(container)), server: \(Self.literal(server)), token: token)",
                        "options.environment = .\(environment)", "let mirror = try TarnMirror(container: container, options: options)",
                        "mirror.start()",
                    ]
                )
            ])
    }

    private var iCloud: Part {
        let account = "--container \(container) --environment \(environment) --api-token-file api-token --session user.session"
        let target = "\\\n  --server \(CurlText.quoted(server)) --token-file user.token"
        return Part(
            title: "iCloud",
            text:
                "tarn copies a user’s records from a container of iCloud to this one, and back, and compares both. The file api-token has the API "
                + "token of the CloudKit Console, user.token the token of a device of the user on this server. The guide is “Leaving and "
                + "entering iCloud”.",
            codes: [
                ("Sign in once", ["tarn icloud sign-in \(account)"]),
                (
                    "From iCloud to this server, then compare",
                    ["tarn icloud pull \(account) \(target) --state pull.json", "tarn icloud compare \(account) \(target)"]
                ),
                ("From this server to iCloud", ["tarn icloud push \(account) \(target) --state push.json"]),
                (
                    "The schema of iCloud, on a Mac, then on this server’s machine",
                    [
                        "xcrun cktool export-schema --team-id TEAM --container-id \(container) --environment \(environment) "
                            + "--output-file icloud.ckdb",
                        "tarn schema import --container \(container) --file icloud.ckdb",
                    ]
                ),
            ])
    }

    private var versions: Part {
        Part(
            title: "Versions of the model",
            text:
                "Devices with earlier and later versions of an app share these records. The server stores fields and has no model: a field that a "
                + "lens writes looks like any other. tarn compares a model with the fields, before a release. The guide is “Versions of an "
                + "app, side by side”.",
            codes: [
                ("On this server’s machine", ["tarn schema check App.xcdatamodeld --against production --container \(container)"]),
                (
                    "Elsewhere, with a copy of the schema",
                    [
                        "tarn schema export --container \(container) --environment production --output-file production.ckdb",
                        "tarn schema check App.xcdatamodeld --against production.ckdb",
                    ]
                ),
                ("Two versions of the model", ["tarn model diff Earlier.xcdatamodel App.xcdatamodel"]),
            ])
    }

    /// A string literal of Swift.
    private static func literal(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
