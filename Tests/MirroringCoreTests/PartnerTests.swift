// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Two devices that give an object different partners of a one-to-one relationship before they hear of each other.
@Suite struct PartnerTests {
    private struct Pair {
        var server = ServerModel()
        var tablet = Replica("T")
        var phone = Replica("P")

        /// Attachments T1, T2 and T3, and the image data T4 and T5, which both know. T4 is that of T3.
        init() {
            for _ in 0..<3 { tablet.insert("Attachment") }
            let image = tablet.insert("ImageData")
            tablet.insert("ImageData")
            tablet.set("attachment", of: image, to: .reference(tablet.keys(of: "Attachment")[2]))
            tablet.sync(&server)
            phone.sync(&server)
        }

        mutating func onTablet(_ attachment: String, has image: String?) { Self.set(&tablet, attachment, image) }
        mutating func onPhone(_ attachment: String, has image: String?) { Self.set(&phone, attachment, image) }

        private static func set(_ replica: inout Replica, _ attachment: String, _ image: String?) {
            guard let key = replica.key(named: attachment) else { return }
            replica.set("imageData", of: key, to: image.flatMap { replica.key(named: $0) }.map { .reference($0) } ?? .null)
        }

        /// The tablet is first at the server.
        mutating func meet(pageSize: Int) {
            for _ in 0..<4 {
                tablet.sync(&server, pageSize: pageSize)
                phone.sync(&server, pageSize: pageSize)
            }
        }

        var isSound: Bool {
            tablet.oneSided + phone.oneSided == [] && tablet.dump == phone.dump && tablet.pendingRecords.isEmpty
                && phone.pendingRecords.isEmpty
        }

        var images: [String] {
            ["T1", "T2", "T3"].compactMap { name in
                guard let key = phone.key(named: name), let image = phone.value("imageData", of: key)?.reference else { return nil }
                return "\(name)–\(phone.name(of: image) ?? "?")"
            }
        }
    }

    /// Pages may part the ends.
    @Test(arguments: [1, 2, 3, 200]) func theDisplacedSideLosesItsReference(pageSize: Int) {
        var pair = Pair()
        pair.onTablet("T1", has: "T5")
        pair.onPhone("T2", has: "T5")
        pair.meet(pageSize: pageSize)
        #expect(pair.isSound)
        #expect(pair.images == ["T2–T5", "T3–T4"])
        #expect(Set(pair.phone.conflicts.map { "\($0.recordName).\($0.property)" }) == ["T5.attachment", "T1.imageData"])
        #expect(pair.tablet.conflicts.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 200]) func concurrentUnlinkAndReassignmentUnlinkTheOneToOneRelationship(pageSize: Int) {
        var pair = Pair()
        pair.onTablet("T1", has: "T4")
        pair.onPhone("T3", has: nil)
        pair.meet(pageSize: pageSize)
        #expect(pair.isSound)
        #expect(pair.images == [])
    }

    @Test(arguments: [1, 2, 3, 200]) func concurrentExchangesOfInverseObjectsConverge(pageSize: Int) {
        var pair = Pair()
        pair.onTablet("T3", has: "T5")
        pair.onTablet("T1", has: "T4")
        pair.onPhone("T2", has: "T4")
        pair.onPhone("T1", has: "T5")
        pair.meet(pageSize: pageSize)
        #expect(pair.isSound)
        #expect(pair.images == ["T1–T5", "T2–T4"])
    }

    @Test(arguments: [1, 2, 3, 200]) func aNewObjectIsDisplacedLikeAKnownOne(pageSize: Int) {
        var pair = Pair()
        let new = pair.tablet.insert("Attachment")
        if let image = pair.tablet.key(named: "T5") { pair.tablet.set("imageData", of: new, to: .reference(image)) }
        pair.onPhone("T2", has: "T5")
        pair.meet(pageSize: pageSize)
        #expect(pair.isSound)
        #expect(pair.images == ["T2–T5", "T3–T4"])
    }
}
