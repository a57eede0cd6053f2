// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import TestBasics
import Testing

@Suite struct ConsoleTests {
    static let base = "/console/c/\(Village.container)/development"

    static let pages = [
        "/console", "\(base)/types", "\(base)/types/Plant", "\(base)/records", "\(base)/records/public/_defaultZone/p%3C1%3E",
        "\(base)/zones", "\(base)/zones/private/Garden", "\(base)/schema", "\(base)/tokens", "/console/users", "/console/users/mia",
        "/console/users/mia/devices.json", "/console/devices", "/console/devices.json",
        "/console/log", "/console/log.json", "/console/audit", "/console/status", "/console/settings", "/console/backups",
        "\(base)/subscriptions", "\(base)/reach",
        "\(base)/records/import", "\(base)/zones/private/Garden/delete",
    ]

    @Test func everyPageIsServedToOperators() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        for page in Self.pages {
            let answer = await visitor.get(page)
            #expect(answer.status == 200, "\(page)")
            #expect(!answer.text.contains("<script>alert"), "\(page)")
            #expect(answer.headers.contains { $0.name == "Content-Security-Policy" }, "\(page)")
        }
        #expect(await visitor.get(Self.pages[1]).text.contains("Plant"))
        #expect(await visitor.get(Self.pages[4]).text.contains("&lt;script&gt;"))
    }

    @Test func noPageIsServedToOtherUsers() async throws {
        let (village, other) = try await BrowserSession.signedIn(isOperator: false)
        let stranger = BrowserSession(village)
        for page in Self.pages {
            let asked = await stranger.get(page)
            #expect(asked.text.contains("name=\"password\""), "\(page)")
            // The form has the page's address.
            #expect(!asked.text.replacing(page, with: "").contains("Plant"), "\(page)")
            #expect(await stranger.post(page, [:], code: "").status == 403, "\(page)")
            let refused = await other.get(page)
            #expect(refused.status == 403, "\(page)")
            #expect(!refused.text.contains("Plant"), "\(page)")
        }
    }

    @Test func formsWithoutTheCodeOfTheirPageAreRejected() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        for code in ["", "0", String(repeating: "0", count: 32)] {
            #expect(await visitor.post("/console/users", ["account": "eve"], code: code).status == 403)
        }
        #expect(await visitor.post("/console/users", ["account": "eve"]).status == 200)
        let elsewhere = await visitor.post(
            "/console/signin", ["name": "mia", "password": "correct horse"], code: "", origin: "https://evil.example")
        #expect(elsewhere.status == 403)
    }

    @Test func recordsAreCreatedUpdatedAndDeleted() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        let new = "\(Self.base)/records/public/_defaultZone/?type=Plant"
        #expect(await visitor.get(new).status == 200)
        let made = await visitor.post(new, ["do": "save", "name": "p2", "f.name": "Mint", "f.count": "7"])
        #expect(made.status == 303)
        let page = "\(Self.base)/records/public/_defaultZone/p2"
        let shown = await visitor.get(page)
        let tag = try #require(
            shown.text.range(of: #"name="tag" value=""#).map { String(shown.text[$0.upperBound...].prefix { $0 != "\"" }) })
        #expect(
            await visitor.post(page, ["do": "save", "tag": tag, "f.name": "Mint", "f.count": "many"]).text.contains(
                "&#39;many&#39; is not a valid INT64 for &#39;count&#39;."))
        #expect(await visitor.post(page, ["do": "save", "tag": tag, "f.name": "Sage", "f.count": "7"]).status == 303)
        #expect(
            await visitor.post(page, ["do": "save", "tag": tag, "f.name": "Dill", "f.count": "7"]).text.contains("Another client has saved")
        )
        let list = await visitor.get("\(Self.base)/records?scope=public&type=Plant&field=name&comparator=EQUALS&value=Sage")
        #expect(list.text.contains(">p2<"))
        let text = await visitor.get(page).text
        let newTag = try #require(text.range(of: #"name="tag" value=""#).map { String(text[$0.upperBound...].prefix { $0 != "\"" }) })
        #expect(await visitor.post(page, ["do": "delete", "tag": newTag]).status == 303)
        let gone = await visitor.get(page)
        #expect(gone.status == 404, "\(gone.text.prefix(200))")
    }

    @Test func indexesAreAddedAndTheSchemaIsDeployed() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let type = "\(Self.base)/types/Plant"
        // In development the list needs no index.
        #expect(await visitor.get("\(Self.base)/records?scope=public&type=Plant").text.contains("p&lt;1&gt;"))
        // As the 2020 talk does it by hand.
        let saved = await visitor.post(
            type,
            [
                "s.recordName.queryable": "yes", "s.modifiedTimestamp.queryable": "yes", "s.modifiedTimestamp.sortable": "yes",
                "i.name.queryable": "yes", "g._world.read": "yes", "g._icloud.create": "yes", "g._creator.write": "yes",
            ])
        #expect(saved.status == 303)
        let schema = try await village.service.schema(of: Village.container).export(.development)
        #expect(schema.types["Plant"]?.schema.systemIndexes[.modifiedTimestamp] == [.queryable, .sortable])
        #expect(schema.types["Plant"]?.schema.fields["count"]?.indexes == [])
        #expect(schema.types["Plant"]?.grants == .standard)
        #expect(await visitor.get("\(Self.base)/records?scope=public&type=Plant&sort=-modifiedTimestamp").text.contains("p&lt;1&gt;"))

        let before = await visitor.get("\(Self.base)/schema")
        #expect(before.text.contains("+ type Plant"))
        #expect(before.text.contains("RECORD TYPE Plant"))
        #expect(await visitor.post("\(Self.base)/schema", ["do": "deploy"]).text.contains("Production only grows"))
        #expect(try await !village.service.schema(of: Village.container).differences().isEmpty)
        #expect(await visitor.confirm("\(Self.base)/schema", ["do": "deploy"]).status == 303)
        #expect(try await village.service.schema(of: Village.container).differences().isEmpty)
        let broken = await visitor.post("\(Self.base)/schema", ["do": "import", "text": "DEFINE SCHEMA\nRECORD TIPE X ();"])
        #expect(broken.status == 400)
        #expect(broken.text.contains("Line 2"))
        let smaller = await visitor.post("\(Self.base)/schema", ["do": "import", "text": "DEFINE SCHEMA"])
        #expect(smaller.status == 409)
        let fixed = await visitor.post("/console/c/\(Village.container)/production/types/Plant", ["g._world.read": "yes"])
        #expect(fixed.status == 400)
    }

    @Test func anImportThatDeletesRecordsNeedsAConfirmation() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let text = "DEFINE SCHEMA RECORD TYPE Tree (age INT64);"
        let asked = await visitor.post("\(Self.base)/schema", ["do": "import", "text": text])
        #expect(asked.status == 200)
        #expect(asked.text.contains("Nothing was imported yet"))
        #expect(asked.text.contains(text))
        let start = try #require(asked.text.range(of: #"name="confirmed" value=""#)).upperBound
        let removed = String(asked.text[start...].prefix { $0 != "\"" })
        #expect(removed.contains("of type Plant"))
        #expect(try await village.service.schema(of: Village.container).export(.development).types["Plant"] != nil)
        // A confirmation of other deletions than the present ones has no effect on the schema.
        #expect(await visitor.post("\(Self.base)/schema", ["do": "import", "text": text, "confirmed": "yes"]).status == 200)
        #expect(try await village.service.schema(of: Village.container).export(.development).types["Plant"] != nil)
        let imported = await visitor.post("\(Self.base)/schema", ["do": "import", "text": text, "confirmed": removed])
        #expect(imported.status == 303)
        let location = try #require(imported.location)
        #expect(await visitor.get(location).text.contains("The schema was imported."))
        #expect(try await village.service.schema(of: Village.container).export(.development).types["Plant"] == nil)
    }

    @Test func feedsShowTombstones() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let mia = Village.Villager(
            village: village, account: "mia", token: try await village.store.addToken(userName: "mia", deviceLabel: "b", now: 0), name: "")
        try await mia.modify([RecordOperation(.create, .plant("gone")), RecordOperation(.create, .plant("kept"))])
        let feed = await visitor.get("\(Self.base)/zones/private/Garden")
        #expect(feed.text.contains(">kept</a>"))
        #expect(feed.text.contains(">gone</a>"))
        let next = try #require(feed.text.range(of: "?token=").map { String(feed.text[$0.upperBound...].prefix { $0 != "\"" }) })
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "gone"))])
        let after = await visitor.get("\(Self.base)/zones/private/Garden?token=\(next)")
        #expect(after.text.contains("<span class=\"gone\">gone</span>"))
        #expect(await visitor.get("\(Self.base)/zones/private/Garden?token=0").text.contains("expired"))
    }

    /// The pages' own scripts use `/cloudkit.js`, which asks the service through the session.
    @Test func scriptsOfPagesSendRequestsThroughTheSession() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let found = await visitor.ask("public/records/lookup", #"{"records":[{"recordName":"p<1>"}]}"#)
        #expect(found.status == 200)
        #expect(found.text.contains(#""recordType":"Plant""#))
        #expect(found.headers.contains { $0.name == "Content-Type" && $0.value.hasPrefix("application/json") })
        #expect(await visitor.ask("private/zones/list", "").text.contains("Garden"))
        let feed = await visitor.ask("public/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}}]}"#)
        #expect(feed.status == 200)
        #expect(feed.text.contains("p<1>"))
        // Neither a page elsewhere, which has no code, nor what pages do not need.
        for code in ["", "0", String(repeating: "0", count: 32)] {
            #expect(await visitor.ask("public/records/lookup", #"{"records":[{"recordName":"p<1>"}]}"#, code: code).status == 403)
        }
        for operation in [
            "public/users/discover", "public/records/accept", "private/users/restrict", "public/nonsense", "private/zones/modify",
        ] {
            let answer = await visitor.ask(operation, #"{"lookupInfos":[],"shortGUIDs":[],"operations":[]}"#)
            #expect(answer.status == 404, "\(operation)")
            #expect(answer.text.contains("serverErrorCode"), "\(operation)")
        }
        #expect(await visitor.ask("public/records/lookup", "{").status == 400)
        #expect(await BrowserSession(village).ask("private/zones/list", "", code: "x").status == 421)
        for page in [
            "\(Self.base)/zones/private/Garden", "\(Self.base)/zones/public/_defaultZone",
            "\(Self.base)/records/public/_defaultZone/p%3C1%3E",
        ] {
            let text = await visitor.get(page).text
            #expect(text.contains(#"src="/cloudkit.js""#), "\(page)")
            #expect(text.contains(#"id="asks""#), "\(page)")
        }
        #expect(await visitor.get("\(Self.base)/zones/public/_defaultZone").text.contains("p&lt;1&gt;"))
    }

    @Test func storageOfAUserIsShownAndLimitedByAQuota() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let mia = Village.Villager(
            village: village, account: "mia", token: try await village.store.addToken(userName: "mia", deviceLabel: "b", now: 0), name: "")
        let long = Record(recordName: "kept", recordType: "Plant", fields: ["name": Field(.string(String(repeating: "x", count: 5000)))])
        try await mia.modify([RecordOperation(.create, long)])
        #expect(await visitor.get("/console/users").text.contains("5.0 kB"))
        let page = await visitor.get("/console/users/mia")
        #expect(page.text.contains(Village.container))
        #expect(page.text.contains("5.0 kB"))
        #expect(await visitor.post("/console/users/mia", ["do": "quota", "quota": "6000"]).status == 303)
        #expect(await visitor.get("/console/users/mia").text.contains(#"value="6000""#))
        #expect(try await village.store.usage().first { $0.userName == "mia" }?.quota == 6000)
        for wrong in ["-1", "many", "99999999999999999999"] {
            #expect(await visitor.post("/console/users/mia", ["do": "quota", "quota": wrong]).status == 400, "\(wrong)")
        }
        #expect(await visitor.post("/console/users/mia", ["do": "quota", "quota": ""]).status == 303)
        #expect(try await village.store.usage().first { $0.userName == "mia" }?.quota == nil)
        let made = await visitor.post("/console/users/mia", ["do": "device", "device": "phone"])
        let token = try #require(made.text.range(of: #"role="status">"#).map { String(made.text[$0.upperBound...].prefix { $0 != "<" }) })
        #expect(try await village.store.device(forToken: token, now: 0) != nil)
        let shown = await visitor.get("/console/users/mia")
        #expect(shown.text.contains("phone"))
        #expect(!shown.text.contains(token))
    }

    @Test func timesAreInUTCAndSaySo() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for page in ["/console/audit", "/console/log"] { #expect(await visitor.get(page).text.contains("Time (UTC)"), "\(page)") }
        #expect(await visitor.get("/console/users/mia").text.contains("Last use (UTC)"))
        let record = await visitor.get("\(Self.base)/records/public/_defaultZone/p%3C1%3E").text
        #expect(record.contains("created 2030-03-17 17:46:40.000 UTC by"))
        #expect(village.clock.now == 1_900_000_000_000)
    }

    @Test func aNewTokenIsShownOnce() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let made = await visitor.post("\(Self.base)/tokens", ["do": "add-token", "label": "page", "origins": "https://app.example.org"])
        let token = try #require(made.text.range(of: #"role="status">"#).map { String(made.text[$0.upperBound...].prefix(64)) })
        let known = try await village.store.apiToken(token)
        #expect(known?.label == "page")
        #expect(known?.allowedOrigins == ["https://app.example.org"])
        #expect(!(await visitor.get("\(Self.base)/tokens").text.contains(token)))
        #expect(
            await visitor.post("\(Self.base)/tokens", ["do": "add-token", "label": "x", "callback": "javascript:alert(1)"]).status == 400)
        let id = try #require(known?.id)
        _ = await visitor.post("\(Self.base)/tokens", ["do": "remove-token", "id": String(id)])
        #expect(try await village.store.apiToken(token) == nil)
    }

    @Test func pathsOutsideTheConsoleAreNotFound() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        for path in [
            "/console/c/..%2F..%2Fetc/development/types", "/console/c/x/staging/types", "/console/../etc/passwd", "\(Self.base)/nonsense",
            "/console/users/%2e%2e", "\(Self.base)/types/%zz", "/console/c", "\(Self.base)",
        ] {
            #expect(await visitor.get(path).status == 404, "\(path)")
        }
    }

    @Test func aSignInSendsTheTokenToTheRequestingOriginOnly() async throws {
        let village = try Village()
        _ = try await village.villager("mia")
        try await village.store.setPassword("correct horse", ofUser: "mia")
        func flow(callback: String? = nil, origin: String?) async throws -> String {
            let token = try await village.store.addAPIToken(
                APIToken(
                    containerIdentifier: Village.container, environment: .development, label: "", callbackURL: callback), now: 0)
            var headers: [String: String] = [:]
            headers["origin"] = origin
            let answer = await village.service.respond(
                to: ServiceRequest(
                    method: "GET", path: "/database/1/\(Village.container)/development/public/users/caller",
                    query: "ckAPIToken=\(token)", headers: RequestHeaders(headers), baseURL: "http://tarn.example"))
            guard case .bytes(let bytes) = answer.body else { return "" }
            let address = try #require(try WireError(json: bytes).redirectURL)
            return String(address.dropFirst("http://tarn.example".count))
        }
        let visitor = BrowserSession(village)
        let popup = try await flow(origin: "https://app.example.org")
        #expect(await visitor.get(popup).text.contains(Village.container))
        let wrong = await visitor.post(popup, ["name": "mia", "password": "wrong"], code: "")
        #expect(wrong.status == 401)
        #expect(wrong.text.contains("wrong"))
        let page = await visitor.post(popup, ["name": "mia@example.org", "password": "correct horse"], code: "")
        #expect(page.text.contains(#"data-origin="https://app.example.org""#))
        #expect(page.text.contains("data-token="))
        let back = try await flow(callback: "https://app.example.org/back?x=1", origin: nil)
        let redirect = await visitor.post(back, ["name": "mia", "password": "correct horse"], code: "")
        #expect(redirect.location?.hasPrefix("https://app.example.org/back?x=1&ckWebAuthToken=") == true)
        // Newer clients look for it by its other name.
        #expect(redirect.location?.contains("&ckSession=") == true)
        for forged in ["/signin", "/signin?flow=", "/signin?flow=00", popup + "00", String(popup.dropLast())] {
            #expect(await visitor.get(forged).status == 400, "\(forged.prefix(30))")
        }
        village.clock.advance(seconds: 901)
        #expect(await visitor.get(popup).status == 400)
    }
}
