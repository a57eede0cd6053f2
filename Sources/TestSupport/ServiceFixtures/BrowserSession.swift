// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudConsole
import CloudEngine
import CloudEngineSQLite
package import CloudService
import CloudWire
import Foundation

/// A user with a browser.
package final class BrowserSession {
    package let console: Console
    /// The console's data, which goes with the village.
    package let village: Village
    /// Values by name and path.
    private var cookies: [Cookie: String] = [:]

    private struct Cookie: Hashable {
        var name: String
        var path: String
    }

    /// - Parameter console: One of the village; nil for one without settings.
    package init(_ village: Village, console: Console? = nil) {
        self.village = village
        self.console = console ?? Console(service: village.service, storage: village.store, hub: village.hub)
    }

    package struct Answer {
        package var status: Int
        package var location: String?
        package var text: String
        package var headers: [(name: String, value: String)]

        /// The code that every form of the page carries.
        package var form: String? {
            text.range(of: #"name="form" value=""#).map { String(text[$0.upperBound...].prefix(32)) }
        }
    }

    /// Puts a cookie into the browser that no page has set.
    package func setCookie(_ name: String, to value: String, path: String) { cookies[Cookie(name: name, path: path)] = value }

    package func get(_ path: String) async -> Answer { await send("GET", path, "") }

    /// Sends a form, with the code of the page it is on.
    package func post(_ path: String, _ fields: [String: String], code: String? = nil, origin: String? = nil) async -> Answer {
        var fields = fields
        if let code { fields["form"] = code } else { fields["form"] = await get("/console").form }
        let body = fields.map { "\($0.key)=\(QueryItems.encode($0.value))" }.joined(separator: "&")
        return await send("POST", path, body, origin: origin)
    }

    /// Sends a form, and then once more with the code of the confirmation that the page requires.
    package func confirm(_ path: String, _ fields: [String: String]) async -> Answer {
        let asked = await post(path, fields).text
        let code = asked.range(of: #"name="confirmed" value=""#).map { String(asked[$0.upperBound...].prefix { $0 != "\"" }) }
        return await post(path, fields.merging(["confirmed": code ?? "none"]) { $1 })
    }

    /// Asks as the pages' scripts do, with the code of the session's forms unless another is given.
    package func ask(_ operation: String, _ body: String, code: String? = nil) async -> Answer {
        let form = if let code { code } else { await get("/console").form ?? "" }
        return await send(
            body.isEmpty ? "GET" : "POST", "/console/api/database/1/\(Village.container)/development/\(operation)", body,
            headers: ["x-tarn-form": form])
    }

    package func send(
        _ method: String, _ path: String, _ body: String, origin: String? = nil, headers: [String: String] = [:]
    ) async -> Answer {
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var headers = headers
        let sent = cookies.filter { parts[0].hasPrefix($0.key.path) }.map { "\($0.key.name)=\($0.value)" }.sorted()
        headers["cookie"] = (["other=1"] + sent).joined(separator: "; ")
        headers["origin"] = origin
        let request = ServiceRequest(
            method: method, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "", headers: RequestHeaders(headers),
            body: .bytes(Array(body.utf8)), baseURL: "http://tarn.example")
        guard let response = await console.respond(to: request) else {
            return Answer(status: 0, location: nil, text: "", headers: [])
        }
        for (name, value) in response.headers where name == "Set-Cookie" { store(value) }
        var text = ""
        if case .bytes(let bytes) = response.body { text = String(decoding: bytes, as: UTF8.self) }
        return Answer(
            status: response.status, location: response.headers.first { $0.name == "Location" }?.value, text: text,
            headers: response.headers)
    }

    private func store(_ text: String) {
        let parts = text.split(separator: ";").map { $0.drop { $0 == " " } }
        guard let first = parts.first, let sign = first.firstIndex(of: "=") else { return }
        let path = parts.first { $0.hasPrefix("Path=") }.map { String($0.dropFirst("Path=".count)) }
        let cookie = Cookie(name: String(first[..<sign]), path: path ?? "/")
        cookies[cookie] = parts.contains("Max-Age=0") ? nil : String(first[first.index(after: sign)...])
    }

    /// A signed-in operator, and a record in the public database.
    package static func signedIn(isOperator: Bool = true) async throws -> (Village, BrowserSession) {
        let village = try Village()
        let mia = try await village.villager("mia")
        try await village.store.setPassword("correct horse", ofUser: "mia")
        if isOperator { try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true } }
        let plant = Record(
            recordName: "p<1>", recordType: "Plant",
            fields: ["name": Field(.string("<script>alert(1)</script>")), "count": Field(.int64(3))])
        let request = ModifyRecordsRequest(operations: [RecordOperation(.create, plant)])
        _ = try await mia.ask(.public, .modifyRecords, request, ModifyRecordsResponse.self)
        let visitor = BrowserSession(village)
        let answer = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        precondition(answer.status == 303 && answer.location == "/console", "the sign-in page answered \(answer.status)")
        return (village, visitor)
    }
}

extension ServiceResponse {
    /// The body, if it is in memory.
    package var text: String {
        guard case .bytes(let bytes) = body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
