// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import Testing

/// The list of accounts and an account's page.
@Suite struct UserPagesTests {
    private static func address(_ rel: String, _ text: String) -> String? {
        guard let end = text.range(of: "\" rel=\"\(rel)\"")?.lowerBound,
            let start = text[..<end].range(of: "<a href=\"", options: .backwards)?.upperBound
        else { return nil }
        return String(text[start..<end]).replacing("&amp;", with: "&")
    }

    @Test func accountsAreListedInPages() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for number in 100..<220 { _ = try await village.store.addUser(name: "n\(number)", deviceLabel: "phone", now: 0) }
        let first = await visitor.get("/console/users").text
        #expect(first.contains(">mia</a>"))
        #expect(first.contains(">n148</a>"))
        #expect(!first.contains(">n149</a>"))
        #expect(Self.address("prev", first) == nil)
        let second = await visitor.get(try #require(Self.address("next", first))).text
        #expect(second.contains(">n149</a>"))
        #expect(second.contains(">n198</a>"))
        let last = await visitor.get(try #require(Self.address("next", second))).text
        #expect(last.contains(">n219</a>"))
        #expect(Self.address("next", last) == nil)
        #expect(await visitor.get(try #require(Self.address("prev", last))).text.contains(">n149</a>"))
        let back = await visitor.get(try #require(Self.address("prev", second))).text
        #expect(back.contains(">mia</a>"))
        #expect(Self.address("prev", back) == nil)
    }

    @Test func accountsAreFoundByTheBeginningOfTheirNames() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        for name in ["max", "bo", "moritz"] { _ = try await village.store.addUser(name: name, deviceLabel: "\(name)'s phone", now: 0) }
        let found = await visitor.get("/console/users?q=m").text
        for name in ["max", "mia", "moritz"] { #expect(found.contains(">\(name)</a>"), "\(name)") }
        #expect(!found.contains(">bo</a>"))
        #expect(found.contains("max&#39;s phone"))
        #expect(!found.contains("bo&#39;s phone"))
        let none = await visitor.get("/console/users?q=%3Cb%3E").text
        #expect(none.contains("No accounts."))
        #expect(!none.contains("<b>"))
    }

    @Test func usageOfSomeAccountsIsThatOfAll() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let bo = try await village.villager("bo")
        try await bo.modify([RecordOperation(.create, .plant("p1"))])
        try await village.store.setQuota(7000, ofUser: "bo")
        let all = try await village.store.usage()
        #expect(try await village.store.usage(ofUsers: ["bo", "mia", "nobody"]) == all.filter { $0.userName != nil })
        #expect(try await village.store.usage(ofUsers: ["bo"]).map(\.quota) == [7000])
        #expect(await visitor.get("/console/users/bo").text.contains(#"value="7000""#))
        #expect(await visitor.get("/console/users/nobody").status == 404)
    }

    @Test func accountsAreListedWithTheirSizeAndDevices() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let bo = try await village.villager("bo")
        try await bo.modify([RecordOperation(.create, .plant("p1"))])
        _ = try await village.store.addUser(name: "eve", deviceLabel: "phone", now: 0)
        let bytes = try await village.store.usage(ofUsers: ["bo"]).reduce(0) { $0 + $1.usage.total }
        #expect(bytes > 1)
        #expect(bytes < 1000)
        let page = await visitor.get("/console/users").text
        let heads = #"<th scope="col" class="number">Size</th><th scope="col">Devices</th>"#
        #expect(page.contains(heads))
        let rows = page.split(separator: "<tr>")
        let (bosRow, evesRow) = (rows.first { $0.contains(">bo</a>") }, rows.first { $0.contains(">eve</a>") })
        #expect(bosRow?.contains(#"<td class="number">\#(bytes) bytes</td><td>tablet</td>"#) == true, "\(page)")
        #expect(evesRow?.contains(#"<td class="number">0 bytes</td><td>phone</td>"#) == true, "\(page)")
    }

    /// An empty field would say that the server's default is in effect, and set it.
    @Test func theQuotaOfAnAccountWithoutDataIsShown() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        _ = try await village.store.addUser(name: "bo", deviceLabel: "phone", now: 0)
        #expect(await visitor.post("/console/users/bo", ["do": "quota", "quota": "7000"]).status == 303)
        #expect(await visitor.get("/console/users/bo").text.contains(#"name="quota" inputmode="numeric" pattern="[0-9]*" value="7000""#))
        #expect(await visitor.post("/console/users/bo", ["do": "quota", "quota": ""]).status == 303)
        #expect(try await village.store.quota(ofUser: "bo") == nil)
    }

    @Test func aNewAccountIsLinked() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        let made = await visitor.post("/console/users", ["do": "add", "account": "eve"])
        #expect(made.status == 200)
        #expect(made.text.contains(#"The account was made: <a href="/console/users/eve">eve</a>"#))
    }
}
