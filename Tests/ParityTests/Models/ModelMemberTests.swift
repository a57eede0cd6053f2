// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Common members of all descriptions of properties, and their archives.
@Suite struct ModelMemberTests {
    static func properties() -> [NSPropertyDescription] {
        [
            NSAttributeDescription(), NSDerivedAttributeDescription(), NSCompositeAttributeDescription(), NSRelationshipDescription(),
            NSFetchedPropertyDescription(), NSExpressionDescription(),
        ]
    }

    @Test func everyKindOfPropertyHasTheMembersOfADescription() throws {
        for property in Self.properties() {
            #expect(property.isOptional, "\(type(of: property))")
            #expect(!property.isTransient, "\(type(of: property))")
            #expect(!property.isIndexedBySpotlight, "\(type(of: property))")
            #expect(property.validationPredicates.isEmpty)
            #expect(property.validationWarnings.isEmpty)
            property.name = "size"
            property.isOptional = false
            property.userInfo = ["unit": "m"]
            property.renamingIdentifier = "length"
            property.versionHashModifier = "2"
            property.setValidationPredicates([NSPredicate(format: "SELF > 1")], withValidationWarnings: ["too small"])
            let copy = try #require(property.copy() as? NSPropertyDescription)
            #expect(copy !== property)
            #expect(copy.name == "size")
            #expect(!copy.isOptional)
            #expect(copy.userInfo?["unit"] as? String == "m")
            #expect(copy.renamingIdentifier == "length")
            #expect(copy.versionHashModifier == "2")
            #expect(copy.validationPredicates.count == 1)
            #expect(copy.validationWarnings.compactMap { $0 as? String } == ["too small"])
        }
    }

    @Test func descriptionsAreArchivedWithSecureCoding() throws {
        let coded: [any NSSecureCoding] = Self.properties() + [NSEntityDescription(), NSManagedObjectModel()]
        #expect(coded.allSatisfy { type(of: $0).supportsSecureCoding })
        let data = try NSKeyedArchiver.archivedData(withRootObject: Library.model, requiringSecureCoding: true)
        let model = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSManagedObjectModel.self, from: data))
        #expect(model !== Library.model)
        #expect(model == Library.model)
        #expect(model.entityVersionHashesByName == Library.model.entityVersionHashesByName)
    }

    @Test func secureUnarchiveTransformersMayBeSubclassed() throws {
        final class Names: NSSecureUnarchiveFromDataTransformer {
            override class var allowedTopLevelClasses: [AnyClass] { [NSArray.self, NSString.self] }
        }
        let name = NSValueTransformerName("ModelMemberTests.Names")
        ValueTransformer.setValueTransformer(Names(), forName: name)
        let names = try #require(ValueTransformer(forName: name))
        let data = try #require(names.reverseTransformedValue(["a", "b"] as NSArray) as? Data)
        #expect(names.transformedValue(data) as? [String] == ["a", "b"])
        for other in [NSDate(timeIntervalSinceReferenceDate: 5), [NSDate(timeIntervalSinceReferenceDate: 5)] as NSArray] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: other, requiringSecureCoding: true)
            #expect(names.transformedValue(data) == nil, "a class that isn't allowed is not decoded")
        }
        let mutable = try NSKeyedArchiver.archivedData(withRootObject: NSMutableArray(array: ["c"]), requiringSecureCoding: true)
        #expect(names.transformedValue(mutable) as? [String] == ["c"], "subclasses of allowed classes are")
    }

    /// Another program's archive names a class that this one doesn't have.
    @Test func archivesOfUnknownClassesDecodeAsNil() throws {
        let archive: [String: Any] = [
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": 1],
            "$objects": ["$null", ["$class": 2], ["$classname": "UIColor", "$classes": ["UIColor", "NSObject"]]],
        ]
        let data = try PropertyListSerialization.data(fromPropertyList: archive, format: .binary, options: 0)
        let secure = try #require(ValueTransformer(forName: .secureUnarchiveFromDataTransformerName))
        #expect(secure.transformedValue(data) == nil)
        #expect(secure.transformedValue(Data("no archive".utf8)) == nil)
        #expect(secure.transformedValue(Data()) == nil)
    }
}
