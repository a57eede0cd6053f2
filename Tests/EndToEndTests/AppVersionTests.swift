// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@testable import PostsApp

/// The second version of the sample app's model, and its sentences about the lens.
@Suite struct AppVersionTests {
    private func post(_ title: String, _ subtitle: String?) -> PostMessage {
        PostMessage(id: "p1", title: title, subtitle: subtitle, content: "", timestamp: 0, tags: [], attachments: [])
    }

    @Test func theSecondVersionKeepsTheTitleAndRenamesTheTime() throws {
        let first = NSPersistentContainer(name: "Posts").managedObjectModel
        let second = try AppVersion.second.model(from: first)
        let names = try #require(second.entitiesByName["Post"]).attributesByName
        #expect(Set(names.keys) == ["content", "headline", "isTrashed", "subtitle", "title", "written"])
        #expect(names["written"]?.renamingIdentifier == "timestamp")
        #expect(first.entitiesByName["Post"]?.attributesByName.keys.contains("headline") == false)
        #expect(try AppVersion.first.model(from: first) === first)
        #expect(throws: CommandProblem.self) { try AppVersion.second.model(from: NSManagedObjectModel()) }
    }

    @Test func theLensIsReportedWhereItTranslated() {
        let (first, second) = (AppVersion.first, AppVersion.second)
        let shown = post("Ridge", "2,871 m")
        #expect(
            second.lensReport(on: shown, since: nil, isImported: true)
                == "The lens split the title “Ridge, 2,871 m” of version 1 into “Ridge” and “2,871 m”.")
        #expect(
            second.lensReport(on: post("Draft", ""), since: shown, isImported: true)
                == "The lens read the title “Draft” of version 1 as the headline.")
        #expect(
            second.lensReport(on: shown, since: post("Ridge", "2,900 m"), isImported: false)
                == "The lens joined headline and subtitle: version 1 shows the title “Ridge, 2,871 m”.")
        // Another attribute changed, the post is still empty, or the version lacks a lens.
        #expect(second.lensReport(on: shown, since: shown, isImported: true) == nil)
        #expect(second.lensReport(on: post("", ""), since: nil, isImported: false) == nil)
        #expect(first.lensReport(on: post("Ridge, 2,871 m", nil), since: nil, isImported: true) == nil)
    }
}
