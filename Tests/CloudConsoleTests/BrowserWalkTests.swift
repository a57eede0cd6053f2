// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

@testable import CloudConsole

/// The walk of a browser through the console, `console_test.py`, opens each page in both colour schemes, also at the width of a phone.
@Suite struct BrowserWalkTests {
    /// Routes without a page of their own.
    private static let others: Set<ConsolePages.Route> = [.devicesFile, .logFile, .container, .signOut]

    private static func addresses() throws -> Substring {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: tests.appendingPathComponent("EndToEndTests/Page/console_test.py"), encoding: .utf8)
        let start = try #require(text.range(of: "def pages(server, container):")).upperBound
        let end = try #require(text.range(of: "\ndef ", range: start..<text.endIndex)).lowerBound
        return text[start..<end]
    }

    @Test func theWalkOpensEachPage() throws {
        let addresses = try Self.addresses()
        for route in ConsolePages.Route.allCases where !Self.others.contains(route) {
            let path = route == .overview ? "" : "/\(route.rawValue)"
            #expect(addresses.contains("{server}/console\(path)\""), "\(route)")
        }
        for route in ContainerPages.Route.allCases { #expect(addresses.contains("{base}/\(route.rawValue)"), "\(route)") }
    }
}
