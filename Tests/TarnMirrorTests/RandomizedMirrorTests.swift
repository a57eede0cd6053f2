// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import TarnMirror
import TestBasics
import Testing

/// Random edits on both devices, with lost requests and responses, and ends of the mirror's process at random steps.
///
/// A seed determines the edits and the faults. When requests arrive is the scheduler's, so that a seed has more than one run.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RandomizedMirrorTests {
    private static let steps = 40
    /// `TARN_MIRROR_SEEDS` runs more.
    static let seeds = 1...(ProcessInfo.processInfo.environment["TARN_MIRROR_SEEDS"].flatMap { UInt64($0) } ?? 8)

    @Test(arguments: seeds)
    func devicesConverge(seed: UInt64) async throws {
        var numbers = SeededNumbers(seed: seed)
        let killer = Killer(staysDead: true)
        let pair = try await Pair(retries: true, reached: { try killer.reached($0) })
        var phone = pair.phone
        for step in 0..<Self.steps {
            switch Int.random(in: 0..<20, using: &numbers) {
            case 0..<8: try edit(pair.tablet, step, &numbers)
            case 8..<14: try edit(phone, step, &numbers)
            case 14: try await pair.tablet.sync()
            case 15, 16: try await phone.sync()
            case 17: phone.transport.loseNextAnswers()
            case 18: phone.transport.loseNextRequests()
            default:
                killer.kill(at: MirrorEnvironment.Step.allCases.randomElement(using: &numbers) ?? .rowsSaved)
                let syncing = Task { [phone] in try await phone.sync() }
                await phone.until { $0.activity == .idle || killer.isDead }
                try await phone.kill()
                _ = await syncing.result
                killer.revive()
                phone = try MirrorDevice(
                    phone.transport, file: phone.file, retries: true, reached: { try killer.reached($0) })
            }
        }
        let lines = try await pair.converge(phone).split(separator: "\n")
        // Each object has one record, and each link.
        let types = ["CD_Book", "CD_Tag", "CD_Note", "CD_Cover", "CD_Reader"]
        var count = 0
        for type in types { count += try await pair.records(ofType: type).count }
        #expect(count == lines.count, "seed \(seed)")
        let links = try phone.read { context in
            try context.all("Book").reduce(0) { $0 + (($1.value(forKey: "tags") as? Set<NSManagedObject>)?.count ?? 0) }
                + context.all("Reader").reduce(0) { $0 + (($1.value(forKey: "friends") as? Set<NSManagedObject>)?.count ?? 0) } / 2
        }
        // Two devices may have linked the same objects: of such a pair there are two records.
        #expect(try await pair.linkedPairs().count == links, "seed \(seed)")
        #expect(phone.mirror.status.pendingCount == 0)
        #expect(phone.mirror.status.rejectedCount == 0)
    }

    /// Makes one to three changes, and saves them together.
    private func edit(_ device: any SyncingDevice, _ step: Int, _ numbers: inout SeededNumbers) throws {
        let draws = (0..<Int.random(in: 1...3, using: &numbers)).map { _ in
            (Int.random(in: 0..<16, using: &numbers), Int.random(in: 0..<1000, using: &numbers), Int.random(in: 0..<1000, using: &numbers))
        }
        try device.edit { context in
            for (index, (kind, one, other)) in draws.enumerated() {
                func pick(_ entity: String, _ number: Int) throws -> NSManagedObject? {
                    let all = try context.all(entity).filter { !$0.isDeleted }
                        .sorted { ($0.value(forKey: "title") as? String ?? "") < ($1.value(forKey: "title") as? String ?? "") }
                    return all.isEmpty ? nil : all[number % all.count]
                }
                let title = "\(step).\(index)"
                switch kind {
                case 0: context.insert("Book", ["title": title])
                case 1: context.insert("Novel", ["title": title, "genre": "a"])
                case 2: context.insert("Tag", ["title": title])
                case 3: context.insert("Note", ["title": title]).setValue(try pick("Book", one), forKey: "book")
                case 4: context.insert("Cover", ["title": title]).setValue(try pick("Note", one), forKey: "note")
                case 5: context.insert("Reader", ["title": title])
                case 6: try pick("Book", one)?.setValue("summary \(title)", forKey: "summary")
                case 7: try pick("Book", one)?.setValue(NSNumber(value: step), forKey: "pages")
                case 8, 9:
                    if let tag = try pick("Tag", other) { try pick("Book", one)?.mutableSetValue(forKey: "tags").add(tag) }
                case 10:
                    if let book = try pick("Book", one), let tags = book.value(forKey: "tags") as? Set<NSManagedObject>,
                        let tag = tags.min(by: {
                            ($0.value(forKey: "title") as? String ?? "") < ($1.value(forKey: "title") as? String ?? "")
                        })
                    {
                        book.mutableSetValue(forKey: "tags").remove(tag)
                    }
                case 11: try pick("Note", one)?.setValue(try pick("Book", other), forKey: "book")
                case 12: try pick("Note", one)?.setValue(try pick("Cover", other), forKey: "cover")
                case 13:
                    if let friend = try pick("Reader", other), let reader = try pick("Reader", one), friend !== reader {
                        reader.mutableSetValue(forKey: "friends").add(friend)
                    }
                case 14: if let object = try pick(["Book", "Tag", "Note", "Cover", "Reader"][other % 5], one) { context.delete(object) }
                default: try pick("Tag", one)?.setValue(title, forKey: "title")
                }
            }
        }
    }
}

extension Pair {
    /// The pairs of names that join records have.
    fileprivate func linkedPairs() async throws -> Set<String> {
        Set(
            try await records(ofType: "CDMR").compactMap { record in
                guard case .string(let names)? = record.fields["CD_recordNames"]?.value else { return nil }
                return names
            })
    }
}
