// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import Testing

/// The history of a record in the console, and the keys of its pages.
@Suite struct BiographyPageTests {
    private static let record = "\(ConsoleTests.base)/records/public/_defaultZone/p%3C1%3E"

    @Test func aRecordLinksToItsHistory() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        #expect(await visitor.get(Self.record).text.contains(#"href="\#(Self.record)/history""#))
        let bo = try await village.villager("bo")
        let edit = ModifyRecordsRequest(
            operations: [
                RecordOperation(.forceUpdate, Record(recordName: "p<1>", recordType: "Plant", fields: ["count": Field(.int64(4))]))
            ])
        // Another user may not change the record: the rejected request is not in its history.
        _ = try await bo.ask(.public, .modifyRecords, edit, ModifyRecordsResponse.self)
        var changed = try BrowserForm(record: await visitor.get(Self.record).text)
        changed["f.count"] = "5"
        #expect(await visitor.send("POST", Self.record, changed.body(pressing: "do", "save")).status == 303)
        let shown = await visitor.get(Self.record).text
        #expect(shown.contains(" UTC by mia on tablet · modified "), "\(shown)")
        #expect(shown.contains(" UTC by mia on console · tag "), "\(shown)")
        let page = await visitor.get("\(Self.record)/history").text
        let rows = page.components(separatedBy: "<tr>").dropFirst(2)
        #expect(rows.count == 2, "\(page)")
        let (latest, first) = (try #require(rows.first), try #require(rows.last))
        #expect(latest.contains("<td>saved</td><td><code>count</code> </td><td>mia</td><td>console</td>"), "\(latest)")
        #expect(first.contains("<td>created</td><td><code>count</code> <code>name</code> </td><td>mia</td><td>tablet</td>"), "\(first)")
        #expect(first.contains(#"<a href="/console/log?request="#))
        #expect(!page.contains("alert(1)"), "values are not in the history")
    }

    @Test func aDeletedRecordHasAHistoryAndAnUnknownOneIsNotFound() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let phone = try await village.store.addToken(userName: "mia", deviceLabel: "phone", now: 0)
        let mia = Village.Villager(village: village, account: "mia", token: phone, name: "")
        try await mia.modify([RecordOperation(.create, .plant("a"))])
        let feedAddress = "\(ConsoleTests.base)/zones/private/Garden"
        let before = await visitor.get(feedAddress).text
        let token = try #require(before.range(of: "?token=").map { String(before[$0.upperBound...].prefix { $0 != "\"" }) })
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "a"))])
        let address = "\(ConsoleTests.base)/records/private/Garden/a"
        #expect(await visitor.get(address).status == 404)
        let feed = await visitor.get("\(feedAddress)?token=\(token)").text
        #expect(feed.contains(#"href="\#(address)/history""#))
        let page = await visitor.get("\(address)/history").text
        #expect(page.contains("<td>deleted</td>"), "\(page)")
        #expect(page.contains("<td>phone</td>"), "\(page)")
        #expect(!page.contains(#"href="\#(address)""#), "there is no record to go back to")
        #expect(await visitor.get("\(ConsoleTests.base)/records/private/Garden/b/history").status == 404)
        #expect(await visitor.get("\(address)/other").status == 404)
    }

    @Test func aLongHistoryIsPaged() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let token = try await village.store.addToken(userName: "mia", deviceLabel: "phone", now: 0)
        let mia = Village.Villager(village: village, account: "mia", token: token, name: "")
        for _ in 0..<51 { try await mia.modify([RecordOperation(.forceReplace, .plant("a"))]) }
        let address = "\(ConsoleTests.base)/records/private/Garden/a/history"
        let first = await visitor.get(address).text
        #expect(!first.contains("<td>created</td>"))
        let more = try #require(first.range(of: "\(address)?from=").map { String(first[$0.upperBound...].prefix { $0 != "\"" }) })
        let second = await visitor.get("\(address)?from=\(more)").text
        #expect(second.contains("<td>created</td>"))
        #expect(second.contains("Newest changes"))
        #expect(second.components(separatedBy: "<tr>").count == 3)
    }

    @Test func everyPageOfTheMenuHasItsOwnShortcut() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        let page = await visitor.get("\(ConsoleTests.base)/records").text
        let header = try #require(page.range(of: "</nav>").map { page[..<$0.lowerBound] })
        let keys = header.components(separatedBy: #"data-key=""#).dropFirst().map { String($0.prefix { $0 != "\"" }) }
        #expect(keys.count == 17)
        #expect(Set(keys).count == keys.count)
        #expect(keys.allSatisfy { $0.count == 1 })
        for key in keys { #expect(page.contains("<kbd>g</kbd> <kbd>\(key)</kbd>")) }
        #expect(page.contains(#"<script src="/console-keys.js">"#))
    }
}
