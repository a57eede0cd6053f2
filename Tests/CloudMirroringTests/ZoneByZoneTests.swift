// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import ObjectGraph
import TestBasics
import Testing

/// A save that touches the zone of the user and that of a share: each zone's part arrives whole, one after the other.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ZoneByZoneTests {
    private static let count = 30

    private func counts(of device: Device) -> Views {
        Views(of: device) { context in
            try ["Trip", "Diary"].map { title in
                "\((try context.post(titled: title)?.value(forKey: "attachments") as? NSSet)?.count ?? 0)"
            }
            .joined(separator: " ")
        }
    }

    @Test func aSaveInTwoZonesArrivesZoneByZone() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device.sharing("phone", try await cloud.addDevice("phone", of: "mia"))
        let bo = try Device.sharing("bo's", try await cloud.addUser("bo", device: "bo's"))
        try await cloud.introduce("bo", givenName: "Bo", emailAddress: "bo@example.org")
        try tablet.edit { context in for title in ["Trip", "Diary"] { context.insert("Post", ["title": title]) } }
        try await tablet.sync()
        let share = try await tablet.share("Trip")
        try await tablet.sync()
        try await bo.join(share)
        for device in [tablet, phone, bo, tablet, phone] { try await device.sync() }
        let zones = try ["Trip", "Diary"].map { tablet.container.recordID(for: try tablet.postID($0))?.zoneID.zoneName }
        #expect(zones[0] != zones[1])

        let (own, others) = (counts(of: phone), counts(of: bo))
        try tablet.edit { context in
            for title in ["Trip", "Diary"] {
                let post = try #require(try context.post(titled: title))
                for number in 0..<Self.count {
                    context.insert("Attachment", ["thumbnail": Data([UInt8(number)]), "post": post])
                }
            }
        }
        for device in [tablet, phone, bo] { try await device.sync() }
        let states = own.all.filter { $0 != "0 0" }
        #expect(states.count == 2, "\(states)")
        #expect(["\(Self.count) 0", "0 \(Self.count)"].contains(states.first ?? ""), "a zone's part is whole")
        #expect(states.last == "\(Self.count) \(Self.count)")
        // A participant of the share waits for no zone that it cannot see.
        #expect(others.all.filter { $0 != "0 0" } == ["\(Self.count) 0"])
        #expect(try phone.dump == tablet.dump)
    }
}
