// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Overrides of `validateValue(_:forKey:)`, and values that a transformer or an archive does not take.
@Suite struct ValueOverrideTests {
    private func context(_ type: NSManagedObject.Type) throws -> NSManagedObjectContext {
        let member = Library.entity(String(describing: type), type)
        member.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("rank", .integer32AttributeType, default: 1),
        ]
        let model = NSManagedObjectModel()
        model.entities = [member]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
        return Depot.context(over: coordinator)
    }

    @Test func aSaveAsksAnOverrideWhereTheClassSaysSo() throws {
        let context = try context(CheckedMember.self)
        try context.performAndWait {
            let member = CheckedMember(context: context)
            member.setValue("bad", forKey: "name")
            let error = #expect(throws: CocoaError.self) { try context.save() }
            #expect(error?.code == .validationStringPatternMatching)
            #expect(error?.validationKey == "name")
            #expect(member.isInserted)
            member.setValue("  good ", forKey: "name")
            try context.save()
            // The override replaces the value.
            #expect(member.value(forKey: "name") as? String == "good")
            #expect(!context.hasChanges)
            member.setValue("bad", forKey: "name")
            member.setValue(-1, forKey: "rank")
            let several = #expect(throws: CocoaError.self) { try context.save() }
            #expect(several?.code == .validationMultipleErrors)
        }
    }

    @Test func withoutThatAnOverrideIsOnlyCalledByTheApp() throws {
        let context = try context(UncheckedMember.self)
        try context.performAndWait {
            let member = UncheckedMember(context: context)
            member.setValue("bad", forKey: "name")
            try context.save()
            var value: AnyObject? = NSString("bad")
            #expect(throws: CocoaError.self) { try member.validateValue(&value, forKey: "name") }
        }
    }

    // MARK: Transformable attributes

    private func gallery(_ transformer: String?, _ className: String? = nil) throws -> NSManagedObjectContext {
        _ = Gallery.model
        let entity = Versions.entity("Sample")
        let value = Library.attribute("value", .transformableAttributeType)
        value.valueTransformerName = transformer
        value.attributeValueClassName = className
        entity.properties = [value, Library.attribute("name", .stringAttributeType)]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Versions.model([entity]))
        try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"))
        return Depot.context(over: coordinator)
    }

    @Test func aValueThatATransformerDoesNotTakeIsNamedByTheSave() throws {
        let context = try gallery("Words")
        context.performAndWait {
            Depot.insert("Sample", ["value": "no list" as NSString], into: context)
            let error = #expect(throws: CocoaError.self) { try context.save() }
            #expect(error?.code == .persistentStoreSave)
            #expect(error?.localizedDescription.contains("Sample") == true)
            #expect(error?.localizedDescription.contains("value") == true)
        }
    }

    @Test(arguments: 0..<5) func withoutATransformerPropertyListsAreArchived(_ index: Int) throws {
        let values: [NSObject] = [
            ["k": 1] as NSDictionary, NSSet(array: ["x"]), "text" as NSString, NSDate(timeIntervalSinceReferenceDate: 12),
            [[1, "a"]] as NSArray,
        ]
        let context = try gallery(nil)
        try context.performAndWait {
            let sample = Depot.insert("Sample", ["value": values[index]], into: context)
            try context.save()
            context.refresh(sample, mergeChanges: false)
            #expect(sample.value(forKey: "value") as? NSObject == values[index])
        }
    }

    @Test func withoutATransformerTheAttributesOwnClassIsArchived() throws {
        let context = try gallery(nil, NSStringFromClass(Shade.self))
        try context.performAndWait {
            let sample = Depot.insert("Sample", ["value": Shade(6)], into: context)
            try context.save()
            context.refresh(sample, mergeChanges: false)
            #expect(sample.value(forKey: "value") as? Shade == Shade(6))
        }
        let other = try gallery(nil)
        other.performAndWait {
            Depot.insert("Sample", ["value": NSObject()], into: other)
            #expect(throws: CocoaError.self) { try other.save() }
        }
    }
}

final class CheckedMember: NSManagedObject {
    override class var validatesEachValue: Bool { true }

    override func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
        try super.validateValue(value, forKey: key)
        switch key {
        case "name": try Self.check(value)
        default: if (value.pointee as? NSNumber)?.intValue ?? 0 < 0 { throw CocoaError(.validationNumberTooSmall) }
        }
    }

    static func check(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
        guard let text = value.pointee as? String else { return }
        if text == "bad" { throw CocoaError(.validationStringPatternMatching, userInfo: [NSValidationKeyErrorKey: "name"]) }
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        if trimmed != text { value.pointee = trimmed as NSString }
    }
}

final class UncheckedMember: NSManagedObject {
    override func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
        try super.validateValue(value, forKey: key)
        if key == "name" { try CheckedMember.check(value) }
    }
}
