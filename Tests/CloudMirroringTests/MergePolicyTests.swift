// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// The result of an attribute's policy for two concurrent edits.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct MergePolicyTests {
    private static func model(_ policies: [String: String] = [:]) -> Model {
        var attributes = [
            Attribute(name: "label", type: .string), Attribute(name: "name", type: .string), Attribute(name: "words", type: .string),
            Attribute(name: "best", type: .integer32), Attribute(name: "count", type: .integer64), Attribute(name: "weight", type: .double),
            Attribute(name: "due", type: .date),
        ]
        for index in attributes.indices { attributes[index].userInfo["syncPolicy"] = policies[attributes[index].name] }
        return Model(entities: [Entity(name: "Thing", attributes: attributes)])
    }

    private static let policies = [
        "name": "earliest", "words": "set-union", "best": "max", "count": "counter", "weight": "counter", "due": "min",
    ]

    private struct Pair {
        let tablet: Device
        let phone: Device

        init(
            _ policies: [String: String],
            _ resolve: (
                @Sendable (NSPersistentCloudKitContainerOptions.MergeConflict) -> NSPersistentCloudKitContainerOptions.MergeDecision
            )? = nil
        ) async throws {
            let cloud = try InProcessCloud()
            func describe(_ description: NSPersistentStoreDescription) {
                description.cloudKitContainerOptions?.resolveMergeConflict = resolve
            }
            tablet = try Device(
                "tablet", try await cloud.addUser("mia", device: "tablet"), model: MergePolicyTests.model(policies), describe: describe)
            phone = try Device(
                "phone", try await cloud.addDevice("phone", of: "mia"), model: MergePolicyTests.model(policies), describe: describe)
        }

        func set(_ device: Device, _ values: sending [String: Any]) throws {
            let values = Values(values)
            try device.edit { context in
                let thing = try context.all("Thing").first ?? NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context)
                for (key, value) in values.values { thing.setValue(value, forKey: key) }
            }
        }

        /// The tablet's values reach the server first.
        func meet() async throws {
            try await tablet.container.sync(timeout: .seconds(600))
            try await phone.container.sync(timeout: .seconds(600))
            try await tablet.container.sync(timeout: .seconds(600))
        }

        func edit(_ tabletValues: sending [String: Any], _ phoneValues: sending [String: Any]) async throws {
            phone.container.pauseSyncing()
            try set(phone, phoneValues)
            try set(tablet, tabletValues)
            try await tablet.container.sync(timeout: .seconds(600))
            phone.container.resumeSyncing()
            try await meet()
        }

        func value(_ key: String) throws -> String {
            let values = try [tablet, phone].map { device in try device.read { try "\($0.all("Thing").first?.value(forKey: key) ?? "nil")" }
            }
            return values[0] == values[1] ? values[0] : "\(values)"
        }

        var lost: [String] {
            get throws {
                try [tablet, phone].flatMap {
                    try $0.container.conflicts().map { "\($0.propertyName) \($0.losingValue ?? "nil") \($0.winner)" }
                }.sorted()
            }
        }
    }

    /// Values on their way into a closure.
    private struct Values: @unchecked Sendable {
        // Unchecked: handed on once.
        let values: [String: Any]

        init(_ values: [String: Any]) { self.values = values }
    }

    @Test func eachPolicyDoesWhatItSays() async throws {
        let pair = try await Pair(Self.policies)
        func day(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) * 86_400) }
        try pair.set(
            pair.tablet, ["name": "first", "words": "a\nb\nc", "best": 10, "count": 100, "weight": 1.5, "due": day(10), "label": "l"])
        try await pair.meet()
        try await pair.edit(
            ["name": "tablet", "words": "a\nc\nt", "best": 30, "count": 103, "weight": 2.0, "due": day(5), "label": "tablet"],
            ["name": "phone", "words": "a\nb\np", "best": 20, "count": 110, "weight": 1.0, "due": day(7), "label": "phone"])
        #expect(try pair.value("name") == "tablet")
        #expect(try pair.value("best") == "30")
        #expect(try pair.value("label") == "phone")
        #expect(try pair.value("words") == "a\nt\np")
        #expect(try pair.value("count") == "113")
        #expect(try pair.value("weight") == "1.5")
        #expect(try pair.value("due") == "\(day(5))")
        // What lost is in the log; counters and sets lose nothing.
        #expect(
            try pair.lost == [
                "best 20 valueSetElsewhere", "due \(day(7)) valueSetElsewhere", "label tablet valueSetHere", "name phone valueSetElsewhere",
            ])
    }

    @Test func oneSidedChangesAreTakenByEveryPolicy() async throws {
        let pair = try await Pair(Self.policies)
        try pair.set(pair.tablet, ["best": 10, "count": 100, "words": "a"])
        try await pair.meet()
        try await pair.edit([:], ["best": 3, "count": 50, "words": "b"])
        #expect(try pair.value("best") == "3")
        #expect(try pair.value("count") == "50")
        #expect(try pair.value("words") == "b")
        #expect(try pair.lost.isEmpty)
    }

    @Test func aClosureDecides() async throws {
        let pair = try await Pair(Self.policies) { conflict in
            switch conflict.attributeName {
            case "label": .value("\(conflict.ancestor ?? "")/\(conflict.elsewhere ?? "")/\(conflict.here ?? "")")
            case "name": .keepHere
            case "best": .value("no number")
            default: .byPolicy
            }
        }
        try pair.set(pair.tablet, ["label": "l", "name": "n", "best": 1, "count": 1])
        try await pair.meet()
        try await pair.edit(["label": "t", "name": "t", "best": 9, "count": 2], ["label": "p", "name": "p", "best": 5, "count": 3])
        #expect(try pair.value("label") == "l/t/p")
        #expect(try pair.value("name") == "p")
        #expect(try pair.value("best") == "9")
        #expect(try pair.value("count") == "4")
        #expect(try pair.lost == ["best 5 valueSetElsewhere", "label p valueSetElsewhere", "label t valueSetHere", "name t valueSetHere"])
    }

    @Test func aPolicyThatDoesNotFitIsRefused() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        for policies in [["label": "counter"], ["count": "set-union"], ["due": "counter"], ["name": "newest"]] {
            #expect(throws: CocoaError.self) { _ = try Device("tablet", transport, model: Self.model(policies)) }
        }
    }
}
