// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// What `make fuzz` found worth keeping, and changes of it that follow from seeds.
@Suite struct FuzzReplayTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Corpus")

    private static func corpus(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = folder.appendingPathComponent(target.rawValue)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            (name, [UInt8](try Data(contentsOf: folder.appendingPathComponent(name))))
        }
    }

    @Test(arguments: FuzzTarget.allCases)
    func inputsOfTheCorpusDoNotFail(_ target: FuzzTarget) throws {
        let corpus = try Self.corpus(of: target)
        try #require(corpus.count > 10)
        for entry in corpus {
            #expect(target.complaint(about: entry.bytes) == nil, "\(target.rawValue)/\(entry.name)")
        }
    }

    /// A whole request or response that is added to the wire is fuzzed, too.
    @Test func eachMessageHasADecoderInTheList() throws {
        let root = Self.folder.appendingPathComponent("../../../..").standardized
        let coding = root.appendingPathComponent("Sources/CloudWire/Coding")
        let list = try String(
            contentsOf: Self.folder.appendingPathComponent("../FuzzTarget+Messages.swift").standardized, encoding: .utf8)
        var count = 0
        for file in try FileManager.default.contentsOfDirectory(at: coding, includingPropertiesForKeys: nil) {
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: /extension (\w+(Request|Response)): WireMessage/) {
                count += 1
                #expect(list.contains("again(\(match.1).self)"), "\(match.1) of \(file.lastPathComponent)")
            }
        }
        #expect(count > 30)
    }

    @Test(arguments: FuzzTarget.allCases, [UInt64(1), 2, 3])
    func changesOfItAreFine(_ target: FuzzTarget, _ seed: UInt64) throws {
        let corpus = try Self.corpus(of: target)
        var random = FuzzNumbers(seed: seed)
        for _ in 0..<2000 {
            let bytes = random.changed(corpus.randomElement(using: &random)?.bytes ?? [], with: corpus.map(\.bytes))
            if let complaint = target.complaint(about: bytes) {
                Issue.record("\(complaint): seed \(seed), \(Data(bytes).base64EncodedString())")
            }
        }
    }
}

/// Seeded changes of bytes, as a fuzzer makes them (SplitMix64).
private struct FuzzNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    private static let words = [
        "null", "true", "{}", "[]", "\"\"", "-1", "1e999", "9223372036854775808", "0.1", "\\u0000", "\\ud800", "LIST<", "/*", "--",
        "\"value\":", "\"type\":\"INT64\"", "EMPTY_LIST", "QUERYABLE", ",", ":", "\"", "\u{FEFF}", "😀",
    ].map { Array($0.utf8) }

    mutating func changed(_ bytes: [UInt8], with corpus: [[UInt8]]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<4, using: &self) {
            let place = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 1 where place < bytes.count: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &self)))
            case 2: bytes.insert(contentsOf: Self.words.randomElement(using: &self) ?? [], at: place)
            case 3: bytes.insert(contentsOf: bytes.suffix(from: place).prefix(20), at: place)
            case 4:
                let other = corpus.randomElement(using: &self) ?? []
                bytes = Array(bytes.prefix(place) + other.suffix(from: min(place, other.count)))
            default: bytes = Array(bytes.prefix(place))
            }
        }
        return bytes
    }
}
