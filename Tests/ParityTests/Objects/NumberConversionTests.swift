// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// The values of numeric attributes are numbers of any type, as the values of imported JSON are.
///
/// Source: developer.apple.com/documentation/coredata/nsattributedescription/attributevalueclassname (`NSNumber`, to
/// which Apple's platforms bridge all of Swift's numbers).
@Suite struct NumberConversionTests {
    @Test func anIntegerAttributeTakesEveryNumber() throws {
        let context = Depot.context(over: try Depot.coordinator(NSSQLiteStoreType, at: URL(fileURLWithPath: "/dev/null")))
        try context.performAndWait {
            let item = Depot.insert("Item", ["name": "nut"], into: context)
            let numbers: [(given: Any, stored: Int64)] = [
                (4.7, 4), (-4.7, -4), (Float(2.5), 2), (Decimal(39) / 10, 3), (Decimal(Int64.max), .max), (NSNumber(value: 7.9), 7),
            ]
            for number in numbers {
                item.setValue(number.given, forKey: "count")
                #expect(item.value(forKey: "count") as? Int64 == number.stored, "\(number.given)")
                try context.save()
                context.refresh(item, mergeChanges: false)
                #expect(item.value(forKey: "count") as? Int64 == number.stored, "\(number.given)")
            }
            item.setValue(Decimal(5) / 2, forKey: "weight")
            #expect(item.value(forKey: "weight") as? Double == 2.5)
        }
    }

    @Test func aBatchInsertTakesEveryNumber() throws {
        let context = Depot.context(over: try Depot.coordinator(NSSQLiteStoreType, at: URL(fileURLWithPath: "/dev/null")))
        try context.performAndWait {
            try context.execute(NSBatchInsertRequest(entityName: "Item", objects: [["name": "bolt", "count": 4.7]]))
            #expect(try context.fetch(Depot.request("Item")).map { $0.value(forKey: "count") as? Int64 } == [4])
        }
    }
}
