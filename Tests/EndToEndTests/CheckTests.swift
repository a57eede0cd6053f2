// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

@testable import PostsApp
@testable import TarnCommands

/// Conclusions of a check from the reports of devices, without devices.
@Suite struct CheckTests {
    @Test func eventsAreTheSameWhereverTheBytesAreCut() {
        let text = "event: state\r\ndata: {\"a\":1}\n\n: a comment\n\nevent: sync\ndata: x\ndata:y\n\nevent: half\ndata: not yet"
        let expected = [ServerEvent(name: "state", data: "{\"a\":1}"), ServerEvent(name: "sync", data: "x\ny")]
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var parser = ServerEventParser()
            #expect(parser.take(bytes[..<cut]) + parser.take(bytes[cut...]) == expected, "cut at \(cut)")
        }
    }

    @Test func aViewFollowsChangesAndTellsDoubles() throws {
        var view = DeviceView()
        try view.apply(
            ServerEvent(
                name: "state",
                data: """
                    {"posts":[{"id":"p1","title":"One","content":"","tags":["p7"],"attachments":[]}],
                     "tags":[{"id":"p7","name":"lake","color":"#112233"}],"sync":{"phase":"idle","pending":0}}
                    """))
        #expect(view.isSettled)
        #expect(view.objectCount == 2)
        try view.apply(
            ServerEvent(
                name: "change",
                data: """
                    {"appearedAt":5,"posts":[{"id":"p2","title":"One","content":"","tags":["p7"],"attachments":[{"id":"p1","name":"a","thumbnail":true}]}],
                     "removedPosts":[],"tags":[],"removedTags":[]}
                    """))
        #expect(view.posts(titled: "One").count == 2)
        #expect(view.appearances == ["One": 5])
        #expect(view.objectCount == 5)
        #expect(view.content == ["post One |  | lake #112233 | ", "post One |  | lake #112233 | a", "tag lake #112233"])
        try view.apply(ServerEvent(name: "change", data: #"{"posts":[],"removedPosts":["p1","p2"],"tags":[],"removedTags":["p7"]}"#))
        try view.apply(ServerEvent(name: "sync", data: #"{"phase":"exporting","done":1,"total":3,"pending":2}"#))
        #expect(view.content.isEmpty)
        #expect(!view.isSettled)
        #expect(view.summary == "shows 0 posts and 0 tags, sync exporting 1 of 3, 2 waiting")
    }

    @Test func versionsAreComparedByTheTitleOfTheFirst() throws {
        func view(_ post: String) throws -> DeviceView {
            var view = DeviceView()
            let rest = #""content":"","tags":[],"attachments":[]"#
            let state = #"{"posts":[{"id":"p1",\#(post),\#(rest)}],"tags":[],"sync":{"phase":"idle","pending":0}}"#
            try view.apply(ServerEvent(name: "state", data: state))
            return view
        }
        let first = try view(#""title":"Ridge, 2,871 m""#)
        #expect(try view(#""title":"Ridge","subtitle":"2,871 m""#).content == first.content)
        #expect(try view(#""title":"Ridge","subtitle":"""#).content == ["post Ridge |  |  | "])
        #expect(first.posts(titled: "Ridge, 2,871 m").count == 1)
    }

    @Test func aReportHasItsKeysInOrderAndItsPercentilesByNearestRank() {
        let measured = CheckReport(
            converged: true, objects: 9, rounds: 50, latencies: (1...100).map { .microseconds(Int64($0) * 1000 + 5) })
        #expect(
            measured.json == #"{"converged":true,"objects":9,"rounds":50,"latencyMillisecondsP50":50.005,"latencyMillisecondsP99":99.005}"#)
        let single = CheckReport(rounds: 1, latencies: [.microseconds(40)])
        #expect(single.json.hasSuffix(#""latencyMillisecondsP50":0.040,"latencyMillisecondsP99":0.040}"#))
        #expect(
            CheckReport().json == #"{"converged":false,"objects":0,"rounds":0,"latencyMillisecondsP50":null,"latencyMillisecondsP99":null}"#
        )
    }

    @Test func namesOnTheStageAreTextAndNotMarkup() {
        let stage = StagePage(sides: [.init(name: "iPad", address: "\"><script>alert(1)</script>")])
        #expect(!stage.html.contains("<script>alert"))
        #expect(stage.html.contains("src=\"&quot;&gt;&lt;script&gt;"))
    }

    @Test(
        arguments: [
            ([0x89, 0x50, 0x4E, 0x47, 0x0D], "image/png"), ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"), (Array("GIF89a".utf8), "image/gif"),
            (Array("RIFF....WEBPVP8 ".utf8), "image/webp"), (Array("<svg onload=alert(1)>".utf8), "application/octet-stream"),
            ([], "application/octet-stream"),
        ] as [([UInt8], String)])
    func onlyPicturesWithoutScriptsAreServedAsPictures(_ bytes: [UInt8], _ type: String) {
        #expect(PictureKind.mediaType(of: Data(bytes)) == type)
    }
}
