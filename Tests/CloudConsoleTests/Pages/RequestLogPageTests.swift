// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import ServiceFixtures
import TestBasics
import Testing

@testable import CloudConsole

/// Users, devices and sizes of requests, and the filters of both lists.
@Suite struct RequestLogPageTests {
    private static let path = "/database/1/\(Village.container)/development/private/records/modify"

    private static func note(_ request: String, _ sender: RequestSender?, access: String? = nil, status: Int = 503) -> RequestNote {
        RequestNote(
            time: 1_900_000_000_000, method: "POST", endpoint: "records/modify", status: status, errorCode: nil, milliseconds: 1,
            requestUUID: request, path: path, client: .mirror, sender: sender, access: access, bytesReceived: 1500, bytesSent: 20)
    }

    private static func signedIn(_ village: Village, archive: RequestFiles) async -> BrowserSession {
        let visitor = BrowserSession(
            village, console: Console(service: village.service, storage: village.store, requestArchive: archive))
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        return visitor
    }

    @Test func responsesNameTheirSenderForTheLog() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let account = try #require(try await village.store.account(named: "bo"))
        let device = try #require(try await village.store.accesses(ofUser: "bo").first).id
        func respond(_ token: String?) async -> ServiceResponse {
            var headers: [String: String] = [:]
            if let token { headers["authorization"] = "Bearer \(token)" }
            headers[HeaderNames.device.lowercased()] = "chosen"
            return await village.service.respond(
                to: ServiceRequest(
                    method: "GET", path: "/database/1/\(Village.container)/development/private/zones/list",
                    headers: RequestHeaders(headers), baseURL: "http://tarn.example"))
        }
        let known = await respond(bo.token)
        #expect(known.status == 200)
        #expect(known.sender == .account(account))
        #expect(known.access == device)
        #expect(known.bodyBytes == known.text.utf8.count)
        let anonymous = await respond(nil)
        #expect(anonymous.status >= 400)
        #expect(anonymous.sender == .anonymous)
        #expect(anonymous.access == nil)
        #expect(await respond("wrong").sender == nil)
    }

    @Test func theLogNamesUsersAndDevices() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let account = try #require(try await village.store.account(named: "mia"))
        let device = try #require(try await village.store.accesses(ofUser: "mia").first).id
        visitor.console.note(Self.note("r1", .account(account), access: device))
        visitor.console.note(Self.note("r2", .account(99)))
        visitor.console.note(Self.note("r3", .serverKey("k1")))
        visitor.console.note(Self.note("r4", nil))
        let log = await visitor.get("/console/log.json").text
        for part in [
            #""request":"r1","client":"mirror","received":1500,"sent":20,"#, #""user":"mia","device":"tablet""#,
            #""user":"removed account 99""#, #""user":"key k1""#, #""container":"\#(Village.container)","environment":"development""#,
        ] {
            #expect(log.contains(part), "\(part)")
        }
    }

    /// A page that is open over a restart asks for notes after a number of the server before.
    @Test func aLogAfterARestartIsShownFromItsBeginning() {
        let log = RequestLog()
        log.add(Self.note("r1", nil))
        log.add(Self.note("r2", nil))
        #expect(log.notes(after: 1).map { $0.note.requestUUID } == ["r2"])
        #expect(log.notes(after: 2).isEmpty)
        #expect(log.notes(after: 300).map { $0.note.requestUUID } == ["r1", "r2"])
    }

    @Test func keptRequestsAreFiltered() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let account = try #require(try await village.store.account(named: "mia"))
        let visitor = await Self.signedIn(village, archive: RequestFiles(data: village.folder.path))
        visitor.console.note(Self.note("r1.", .account(account)))
        visitor.console.note(Self.note("r2.", .anonymous, status: 404))
        let all = await visitor.get("/console/log/kept").text
        #expect(all.contains("<summary>mia</summary>"))
        #expect(all.contains("<dd>1.5 kB</dd>"))
        for (query, found, other) in [
            ("user=mia", "r1.", "r2."), ("user=anonymous", "r2.", "r1."), ("status=4", "r2.", "r1."), ("request=r1.", "r1.", "r2."),
            ("endpoint=records/modify&container=\(Village.container)&status=5", "r1.", "r2."),
        ] {
            let page = await visitor.get("/console/log/kept?" + query).text
            #expect(page.contains(">\(found)<"), "\(query)")
            #expect(!page.contains(">\(other)<"), "\(query)")
        }
        for query in ["user=nobody", "user=account%20\(account)", "container=other"] {
            #expect(await visitor.get("/console/log/kept?" + query).text.contains("No requests."), "\(query)")
        }
    }

    @Test func aRequestThatTheLogNoLongerHasIsDescribedByTheChangeLog() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = await Self.signedIn(village, archive: RequestFiles(data: village.folder.path))
        let record = "\(ConsoleTests.base)/records/public/_defaultZone/p%3C1%3E"
        let history = await visitor.get("\(record)/history").text
        let start = try #require(history.range(of: #"<a href="/console/log?request="#)?.upperBound)
        let query = String(history[start...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
        let request = String(query.prefix { $0 != "&" })
        let page = await visitor.get("/console/log?request=\(query)").text
        #expect(page.contains("/console/log/kept?request=\(request)"))
        #expect(page.contains("2030-03-17 17:46:40.000 UTC, by mia, with the device tablet"))
        #expect(page.contains(#"href="\#(record)/history""#))
        // The change log is not asked about another request.
        let other = await visitor.get("/console/log?request=other\(query.dropFirst(request.count))").text
        #expect(other.contains("/console/log/kept?request=other"))
        #expect(!other.contains("by mia"))
        visitor.console.note(Self.note(request, .anonymous))
        #expect(await !visitor.get("/console/log?request=\(query)").text.contains("no longer has the request"))
    }
}
