// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

/// Descriptions of a model file.
@Suite struct ModelFileTests {
    private func model(_ body: String) throws -> NSManagedObjectModel {
        let folder = FileManager.default.temporaryDirectory.appending(path: "model-file-\(UUID().uuidString).xcdatamodel")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("<model>\(body)</model>".utf8).write(to: folder.appending(path: "contents"))
        return try #require(NSManagedObjectModel(contentsOf: folder))
    }

    @Test func templatesHaveTheirEntityAndVariables() throws {
        let model = try model(
            """
            <entity name="Note"><attribute name="title" optional="YES" attributeType="String"/></entity>
            <fetchRequest name="Titled" entity="Note" predicateString="title == $title" fetchLimit="3" resultType="1" returnDistinctResults="YES"/>
            """)
        let template = try #require(model.fetchRequestTemplate(forName: "Titled"))
        #expect(template.entity === model.entitiesByName["Note"])
        #expect(template.fetchLimit == 3)
        #expect(template.resultType == .managedObjectIDResultType)
        #expect(template.returnsDistinctResults)
        #expect(!template.includesSubentities)
        let request = try #require(model.fetchRequestFromTemplate(withName: "Titled", substitutionVariables: ["title": "A"]))
        #expect(request.predicate?.description == "title == \"A\"")
        #expect(request.returnsDistinctResults)

        let copy = try #require(model.copy() as? NSManagedObjectModel)
        #expect(copy.fetchRequestTemplate(forName: "Titled")?.entity === copy.entitiesByName["Note"])
        let archive = try NSKeyedArchiver.archivedData(withRootObject: model, requiringSecureCoding: true)
        let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSManagedObjectModel.self, from: archive))
        #expect(read.fetchRequestTemplate(forName: "Titled")?.predicate?.description == "title == $title")
    }

    @Test func indexesAndFetchedPropertiesMatchTheModelFile() throws {
        let model = try model(
            """
            <entity name="Note">
                <attribute name="title" optional="YES" attributeType="String"/>
                <fetchedProperty name="alike" elementID="same" versionHashModifier="2"><fetchRequest name="r" entity="Note"/></fetchedProperty>
                <fetchIndex name="byLength"><fetchIndexElement expression="uppercase:(title)" expressionType="String" order="descending"/></fetchIndex>
            </entity>
            """)
        let note = try #require(model.entitiesByName["Note"])
        let property = try #require(note.propertiesByName["alike"])
        #expect(property.renamingIdentifier == "same")
        #expect(property.versionHashModifier == "2")
        let element = try #require(note.indexes.first?.elements.first)
        let computed = try #require(element.property as? NSExpressionDescription)
        #expect(computed.expressionResultType == .stringAttributeType)
        #expect(computed.expression?.description == "uppercase:(title)")
        #expect(!element.isAscending)
        let copy = try #require(note.copy() as? NSEntityDescription)
        #expect(copy.indexes.first?.elements.first?.property is NSExpressionDescription)
    }
}
