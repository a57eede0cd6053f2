// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Changes to items that are in flight.
@Suite struct ChangeMarkTests {
    @Test func aChangeHasTheNumberOfItsTransaction() {
        #expect(ChangeMark.next(after: nil, in: 7) == 7)
        #expect(ChangeMark.next(after: 5, in: 7) == 7)
    }

    @Test func aChangeHasALaterMarkThanTheItem() {
        #expect(ChangeMark.next(after: 7, in: 7) == 8)
        #expect(ChangeMark.next(after: 9, in: 7) == 10)
        #expect(ChangeMark.next(after: 9) == 10)
    }

    /// A scan names a new member in the zone of the share, and reads its insertion after that. So the member has the mark of the next transaction.
    @Test func aMemberThatMovesInFlightIsSentAgain() throws {
        let list = Entity(
            name: "List",
            relationships: [Relationship(name: "items", destination: "Item", inverse: "list", isToMany: true, isOrdered: true)])
        let item = Entity(name: "Item", relationships: [Relationship(name: "list", destination: "List", inverse: "items")])
        let mapping = RecordMapping(model: try ResolvedModel(Model(entities: [list, item])), allowing: [.orderedRelationships])
        var cloud = CloudModel()
        cloud.zones[CloudModel.share] = ServerModel()
        var device = Replica("A", mapping: mapping), other = Replica("B", mapping: mapping)
        device.learnZones(of: cloud)
        let owner = device.insert("List")
        device.insert("Item", ["list": .reference(owner)])
        device.share([owner], in: CloudModel.share)
        device.sync(&cloud, pageSize: 10)

        device.insert("Item", ["list": .reference(owner)])
        let planned = device.nextBatch(itemsMax: 10)
        let (zone, batch) = try #require(planned)
        let response = device.send(batch, to: &cloud[zone])
        device.move(owner, "items", from: 1, to: 0)
        device.scan()
        _ = device.settle(batch, response.outcomes, response.assets, in: zone)
        device.sync(&cloud, pageSize: 10)
        other.importAll(from: cloud, pageSize: 10)
        #expect(other.dump == device.dump)
    }
}
