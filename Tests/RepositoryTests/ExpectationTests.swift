// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

/// The form of tests: an expectation shows which claim failed.
@Suite struct ExpectationTests {
    /// Returns the lines of expectations that join claims by `&&`, outside of closures and parentheses.
    static func joined(in text: String) -> [Int] {
        var lines: [Int] = []
        for start in text.ranges(of: "#expect(") + text.ranges(of: "#require(") {
            var scan = ConditionScan()
            var index = start.upperBound
            while index < text.endIndex, scan.take(text[index...]) { text.formIndex(after: &index) }
            if scan.isJoined { lines.append(text[..<start.lowerBound].count { $0 == "\n" } + 1) }
        }
        return lines
    }

    @Test func noExpectationJoinsClaims() throws {
        for file in try RepositoryFiles.swift(in: "Tests") where !file.path.hasSuffix("ExpectationTests.swift") {
            for line in Self.joined(in: file.text) {
                Issue.record(
                    "\(file.path):\(line) joins claims by '&&'; write an expectation for each, so that a failure shows which is false")
            }
        }
    }

    /// Real time and randomness make a failure hard to repeat. Files that need them, and why.
    static let real: [(path: String, because: String)] = [
        ("Tests/ParityTests/", "Apple's API has no clock to inject"),
        ("Tests/CloudParityTests/", "calls of API whose results don't matter"),
        ("Tests/TypicalCloudCodeTests/", "code as apps have it"),
        ("Tests/ObjectGraphTests/MisuseTests.swift", "a value of a wrong type"),
        ("Tests/CloudKitTests/LongLived/PersistedOperationTests.swift", "the age of files"),
        ("Tests/CloudMirroringTests/Device.swift", "history has the store's time, which is the process's"),
        ("Tests/CloudMirroringTests/EncryptionKeyRingTests.swift", "keys of several processes"),
        ("Tests/CloudIdentityTests/ForeignProviderTests.swift", "a provider that is a process of its own, by the system's clock"),
        ("Tests/CloudServerTests/Connections/ConnectionTests.swift", "an upper bound for sockets"),
        ("Tests/TarnCommandsTests/OutputTests.swift", "an instant, from which the test counts"),
        ("Sources/TestSupport/TestBasics/Waiting.swift", "an upper bound for conditions without a signal"),
    ]

    /// The words of which each match has one.
    private static let sourceWords = [
        "Date()", "Date.now", "ContinuousClock", "SuspendingClock", ".random(", "shuffled()", "randomElement()",
        "SystemRandomNumberGenerator", "timeIntervalSinceNow",
    ]

    @Test func testsHaveNoRealClockOrRandomSource() throws {
        let source =
            /\bDate\(\)|Date\.now|ContinuousClock|SuspendingClock|\.random\((in: [^,()]*)?\)|shuffled\(\)|randomElement\(\)|SystemRandomNumberGenerator|timeIntervalSinceNow/
        var used: Set<String> = []
        for folder in ["Tests", "Sources/TestSupport"] {
            for file in try RepositoryFiles.swift(in: folder)
            where !file.path.hasPrefix("Tests/RepositoryTests/")
                && Self.sourceWords.contains(where: { RepositoryFiles.has($0, in: file.text) })
                && file.text.contains(source)
            {
                if let exception = Self.real.first(where: { file.path.hasPrefix($0.path) }) {
                    used.insert(exception.path)
                } else {
                    Issue.record(
                        "\(file.path) has \(file.text.firstMatch(of: source).map { String($0.0) } ?? ""); use HandClock or SeededNumbers")
                }
            }
        }
        #expect(used == Set(Self.real.map(\.path)), "exceptions without a use")
    }

    @Test(arguments: [
        "#expect(a && b)", "#expect(try x.first { $0 > 1 } == 2 && y)", "let x = try #require(\n    a(\"(\") == 1\n        && b, \"why\")",
        ##"#expect(text == #"")"# && b)"##,
    ])
    func joinedClaimsAreFound(_ text: String) {
        #expect(Self.joined(in: text) == [1])
    }

    @Test(arguments: [
        "#expect(a)", "#expect(all.contains { $0 > 1 && $0 < 9 })", "#expect((a && b) == c)", "#expect(a == \"x && y\")",
        "#expect(a, \"both: \\(x && y)\")", "#expect(throws: Failure.self) { a && b }", "#expect(a) && b",
    ])
    func otherExpectationsAreNot(_ text: String) {
        #expect(Self.joined(in: text) == [])
    }
}

/// Reads the condition of an expectation, from behind its parenthesis to the first comma or the closing parenthesis.
private struct ConditionScan {
    private(set) var isJoined = false
    private var depth = 0
    /// The delimiter that ends the string that the scan is in.
    private var delimiter: String?
    /// Characters that belong to the token before.
    private var skipped = 0

    /// - Parameter rest: The text from the next character on.
    /// - Returns: Whether the condition goes on.
    mutating func take(_ rest: Substring) -> Bool {
        if skipped > 0 {
            skipped -= 1
            return true
        }
        if let delimiter {
            if rest.hasPrefix("\\"), !delimiter.hasSuffix("#") {
                skipped = 1
            } else if rest.hasPrefix(delimiter) {
                skipped = delimiter.count - 1
                self.delimiter = nil
            }
            return true
        }
        if rest.first == "\"" || rest.first == "#", let start = rest.prefixMatch(of: /#*"(?:"")?/) {
            // The quotation marks of an empty string aren't those of a text of several lines.
            let quotes = start.output.drop { $0 == "#" }
            let hashes = String(start.output.prefix { $0 == "#" })
            delimiter = quotes + hashes
            skipped = start.output.count - 1
            return true
        }
        switch rest.first {
        case "(", "[", "{": depth += 1
        case ")", "]", "}":
            depth -= 1
            return depth >= 0
        case "," where depth == 0: return false
        case "&" where depth == 0 && rest.hasPrefix("&&"): isJoined = true
        default: break
        }
        return !isJoined
    }
}
