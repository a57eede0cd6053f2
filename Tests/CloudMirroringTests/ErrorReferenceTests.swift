// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import Testing

/// The tables of the guide `ErrorCodes.md` are written from the declarations of the codes, and from the policy of retries.
/// `TARN_WRITE_GOLDEN=1` in the environment of the test run writes them; look at the difference before you commit it.
@Suite struct ErrorReferenceTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let page = root.appendingPathComponent("Documentation/Tarn.docc/ErrorCodes.md")

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func theTablesAreThoseOfTheDeclarations() throws {
        var page = try String(contentsOf: Self.page, encoding: .utf8)
        for (heading, table) in [
            ("## CKError", try Self.appCodes()), ("## Responses of the server", Self.serverCodes()),
            ("## Errors of Core Data", try Self.coreDataCodes()),
        ] {
            let section = try #require(page.range(of: "\(heading)\n"), "the page has no section '\(heading)'")
            let start = try #require(page.range(of: "\n| ", range: section.upperBound..<page.endIndex), "'\(heading)' has no table")
                .lowerBound
            let end = page.range(of: "\n\n", range: page.index(after: start)..<page.endIndex)?.lowerBound ?? page.endIndex
            page.replaceSubrange(page.index(after: start)..<end, with: table)
        }
        if !page.hasSuffix("\n") { page += "\n" }
        if ProcessInfo.processInfo.environment["TARN_WRITE_GOLDEN"] != nil { try Data(page.utf8).write(to: Self.page) }
        #expect(
            try String(contentsOf: Self.page, encoding: .utf8) == page,
            "the tables differ from the code: TARN_WRITE_GOLDEN=1 make quick ONLY=CloudMirroringTests.ErrorReferenceTests")
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        ([head, head.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |" }.joined(separator: "\n")
            .replacingOccurrences(of: "| --- |", with: "|---|").replacingOccurrences(of: " --- |", with: "---|")
    }

    // MARK: CKError

    private static func appCodes() throws -> String {
        let comments = try text("Sources/CloudKit/Errors/CKErrorCode.swift")
            .matches(of: /\/\/\/ ([^\n]+)\n +case (\w+) = \d+/)
            .reduce(into: [String: String]()) { $0[String($1.2)] = String($1.1) }
        return table(
            ["number", "code", "meaning", "from the server", "a mirrored store"],
            try AppErrorCode.allCases.map { code in
                let meaning = try #require(comments["\(code)"], "\(code) has no comment")
                return ["\(code.rawValue)", "`\(code)`", meaning, origin(of: code), reaction(to: code)]
            })
    }

    private static func origin(of code: AppErrorCode) -> String {
        let wire = WireError.Code.allCases.filter { AppErrorCode(WireError($0, "")) == code }.map { "`\($0.rawValue)`" }
        if !wire.isEmpty { return wire.joined(separator: ", ") }
        return AppErrorCode.withoutWireCode.contains(code) ? "`nativeErrorCode` \(code.rawValue)" : ""
    }

    private static func reaction(to code: AppErrorCode) -> String {
        if code == .quotaExceeded { return "keeps changes, sends deletions, retries every hour" }
        return switch RetryPolicy.decide(CloudFailure(code, ""), attempt: 1, jitter: 0) {
        case .wait(_, isOffline: true, _): "retries as soon as the server is reachable"
        case .wait: "retries with backoff, at most every 5 minutes"
        case .pause: "pauses until the account, the app or the user changes something"
        case .stop: "stops until the next launch"
        case .fetchAgain: "fetches the zone from the start, and keeps its objects"
        case .uploadAgain: "creates the zone, and sends its objects"
        case .removeRows: "deletes the objects that were on the server"
        case .split: "sends less at once"
        case .importFirst: "imports, merges, and sends again"
        }
    }

    // MARK: The protocol

    private static func serverCodes() -> String {
        table(
            ["`serverErrorCode`", "HTTP status", "`CKError`"],
            WireError.Code.allCases.map { code in
                ["`\(code.rawValue)`", "\(code.httpStatus)", "`\(AppErrorCode(WireError(code, "")))`"]
            })
    }

    // MARK: Core Data

    private static func coreDataCodes() throws -> String {
        let rows = try text("Sources/ObjectGraph/Errors/CocoaError+CoreData.swift")
            .matches(of: /\/\/\/ (\d+): ([^\n]+)\n +public static var (\w+): Self/)
            .map { [String($0.1), "`\($0.3)`", $0.2.replacingOccurrences(of: "``", with: "`").capitalizedSentence] }
        #expect(rows.count >= 40)
        return table(["number", "`CocoaError.Code`", "meaning"], rows)
    }
}

extension String {
    fileprivate var capitalizedSentence: String { prefix(1).uppercased() + dropFirst() }
}
