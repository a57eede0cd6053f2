// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// Forms that are not valid, and pages that do not exist.
@Suite struct PageProblemTests {
    private let village: Village
    private let visitor: BrowserSession

    init() async throws {
        (village, visitor) = try await BrowserSession.signedIn()
        _ = try await village.villager("bo")
    }

    private func expectProblem(_ answer: BrowserSession.Answer, status: Int = 400, keeps texts: String...) {
        #expect(answer.status == status)
        #expect(answer.text.contains(#"role="alert""#))
        #expect(answer.text.contains(#"href="/console/audit""#), "the menu")
        for text in texts { #expect(answer.text.contains(text), "\(text)") }
    }

    @Test func aUsersPageKeepsTheTextsOfARejectedForm() async throws {
        let profile = ["do": "profile", "given": "<Bo>", "email": "nobody", "discoverable": "yes"]
        expectProblem(
            await visitor.post("/console/users/bo", profile), keeps: #"value="&lt;Bo&gt;""#, #"value="nobody""#,
            #"name="discoverable" value="yes" checked"#)
        expectProblem(await visitor.post("/console/users/bo", ["do": "quota", "quota": "many"]), keeps: #"value="many""#)
        expectProblem(
            await visitor.post("/console/users/bo", ["do": "device", "device": String(repeating: "x", count: 65)]), keeps: "xxxxx")
        let password = await visitor.post("/console/users/bo", ["do": "password", "password": "seven x"])
        expectProblem(password, keeps: "at least 8 characters")
        #expect(!password.text.contains("seven x"))
        expectProblem(
            await visitor.post("/console/users/bo", ["do": "revoke", "id": "nonsense"]), status: 409,
            keeps: "The user has no device of this identifier.")
    }

    @Test(arguments: [
        (["do": "profile", "given": "Bo"], "The profile was saved."),
        (["do": "password", "password": "battery staple"], "The password was set."),
        (["do": "quota", "quota": "7000"], "The quota was set."),
    ])
    func aSavedFormIsConfirmedOnTheUsersPage(_ form: [String: String], _ sentence: String) async throws {
        let saved = await visitor.post("/console/users/bo", form)
        #expect(saved.status == 303)
        #expect(await visitor.get(try #require(saved.location)).text.contains(sentence))
        #expect(await !visitor.get("/console/users/bo").text.contains(sentence))
    }

    @Test func theListOfUsersKeepsARejectedName() async throws {
        expectProblem(await visitor.post("/console/users", ["do": "add", "account": "b o"]), keeps: #"value="b o""#)
        expectProblem(
            await visitor.post("/console/users", ["do": "add", "account": "bo"]), status: 409, keeps: #"value="bo""#,
            "A user of this name is there already.")
    }

    @Test func thePageOfTokensKeepsTheTextsOfARejectedForm() async throws {
        let token = ["do": "add-token", "label": "page", "origins": "https://a.example", "callback": "javascript:x", "days": "7"]
        let tokens = "\(ConsoleTests.base)/tokens"
        expectProblem(
            await visitor.post(tokens, token), keeps: #"value="page""#, #"value="https://a.example""#, #"value="javascript:x""#,
            #"value="7""#)
        expectProblem(
            await visitor.post(tokens, ["do": "add-key", "label": "batch", "days": "0", "pem": "-----BEGIN"]), keeps: #"value="batch""#,
            ">-----BEGIN</textarea>")
        expectProblem(await visitor.post(tokens, ["do": "remove-token", "id": "7"]), status: 409)
    }

    @Test func aTokenForProductionNeedsOrigins() async throws {
        let tokens = "/console/c/\(Village.container)/production/tokens"
        #expect(await visitor.get(tokens).text.contains(#"name="origins" value="" required"#))
        expectProblem(
            await visitor.post(tokens, ["do": "add-token", "label": "page", "origins": " , "]), keeps: #"value="page""#,
            "A token for production needs the origins of its pages")
        #expect(try await village.store.apiTokens().isEmpty)
        #expect(await visitor.post(tokens, ["do": "add-token", "label": "page", "origins": "https://a.example"]).status == 200)
        #expect(await visitor.get("\(ConsoleTests.base)/tokens").text.contains(#"placeholder="all; or https"#))
        #expect(try await village.store.apiTokens().map(\.allowedOrigins) == [["https://a.example"]])
    }

    @Test func aListKeepsTheSelectionOfARejectedChange() async throws {
        let list = "\(ConsoleTests.base)/records?place=public/_defaultZone&type=Plant"
        let change = ["do": "edit", "set": "count", "to": "many", "x.0": "p<1>", "t.0": "1"]
        expectProblem(
            await visitor.post(list, change), keeps: "not a valid INT64", #"name="to" value="many""#, #"value="count" selected"#,
            #"value="p&lt;1&gt;" checked"#)
        expectProblem(await visitor.post(list, ["do": "delete"]), keeps: "Select at least one record.")
    }

    @Test func problemsHaveTheMenuAndATitle() async throws {
        for path in ["/console/nonsense", "/console/users/eve", "\(ConsoleTests.base)/nonsense", "/console/c/x/staging/types"] {
            let page = await visitor.get(path)
            #expect(page.status == 404, "\(path)")
            #expect(page.text.contains("<h1>Not found</h1>"), "\(path)")
            #expect(page.text.contains(#"href="/console/audit""#), "\(path)")
            #expect(page.text.contains(#"action="/console/signout""#), "\(path)")
        }
        let forged = await visitor.post("/console/users", ["account": "eve"], code: "0")
        #expect(forged.text.contains("<h1>Not allowed</h1>"))
    }
}
