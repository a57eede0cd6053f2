// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import ModelTool
import TestBasics
import Testing

@Suite struct RandomModelTests {
    @Test(arguments: SeedPart.of(0..<300))
    func aModelThatIsWrittenIsReadAsItWas(seed: Int) throws {
        let model = RandomModel.make(seed: UInt64(seed))
        let text = try ModelFileWriter(ModelDocument(model)).text()
        let folder = try ModelFolder(versions: ["Shop": text])
        let compilation = try folder.read(module: "Generated")
        let read = compilation.compiled.current
        #expect(read == model, "seed \(seed): \(Self.difference(read, model))")
        // A file is written again as it stands, spellings included.
        let document = try #require(compilation.documents["Shop"])
        #expect(try ModelFileWriter(document).text() == text)
        // The compiled model is the same model, too.
        #expect(try CompiledModel(data: try compilation.compiled.encoded()) == compilation.compiled)
    }

    @Test func everyFeatureIsInSomeOfTheModels() throws {
        let models = (0..<300).map { RandomModel.make(seed: UInt64($0)) }
        let entities = models.flatMap(\.entities)
        let attributes = entities.flatMap(\.attributes) + models.flatMap(\.composites).flatMap(\.attributes)
        let relationships = entities.flatMap(\.relationships)
        #expect(Set(attributes.map(\.type)) == Set(RandomModel.types))
        // What no model differs from a blank one in was never written.
        func unused<Value: SparselyCoded & Equatable>(_ values: [Value]) throws -> [String] {
            let used = try values.map { Set(try keys(of: $0)) }.reduce(into: Set<String>()) { $0.formUnion($1) }
            return Value.fields.map(\.fieldName).filter { !used.contains($0) }
        }
        func keys(of value: some Encodable) throws -> [String] {
            let object = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value))
            return (object as? [String: Any]).map { Array($0.keys) } ?? []
        }
        #expect(try unused(models) == [])
        #expect(try unused(entities) == [])
        #expect(try unused(attributes) == ["elements"])
        #expect(try unused(relationships) == [])
        #expect(try unused(entities.flatMap(\.indexes)) == [])
        #expect(try unused(entities.flatMap(\.indexes).flatMap(\.elements)) == ["isRTree"])
        #expect(try unused(models.flatMap(\.fetchTemplates)) == [])
        #expect(try unused(entities.flatMap(\.fetchedProperties)) == [])
    }

    private static func difference(_ read: Model, _ made: Model) -> String {
        func text(_ model: Model) -> [Substring] {
            var text = ""
            dump(model, to: &text)
            return text.split(separator: "\n")
        }
        return "\(text(read).difference(from: text(made)))"
    }
}
