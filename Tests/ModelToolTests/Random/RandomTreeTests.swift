// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import ModelTool
import TestBasics
import Testing

@Suite struct RandomTreeTests {
    @Test(arguments: SeedPart.of(0..<300))
    func fileThatIsReadAndWrittenHasTheSameTree(seed: Int) throws {
        let tree = RandomTree.make(seed: UInt64(seed))
        let document = try #require(ModelFolder(versions: ["Shop": tree.description]).read().documents["Shop"])
        #expect(try ElementTree.parse(ModelFileWriter(document).text()) == tree, "\(tree)")
    }

    /// One attribute changes: its element changes, and no other.
    @Test(arguments: SeedPart.of(0..<300))
    func changeOfAnAttributeChangesItsElementOnly(seed: Int) throws {
        let tree = RandomTree.make(seed: UInt64(seed))
        let folder = try ModelFolder(versions: ["Shop": tree.description])
        var document = try #require(folder.read().documents["Shop"])
        var random = RandomSource(seed: UInt64(seed) &+ 1)
        let entity = document.model.entities.indices.randomElement(using: &random) ?? 0
        let place = document.model.entities[entity].attributes.indices.randomElement(using: &random) ?? 0
        let name = document.model.entities[entity].attributes[place].name
        document.model.entities[entity].attributes[place].isOptional.toggle()
        document.model.entities[entity].attributes[place].userInfo["added"] = "1"
        let text = try ModelFileWriter(document).text()

        let written = try ElementTree.parse(text)
        func without(_ tree: ElementTree) -> ElementTree {
            var tree = tree
            tree.children = tree.children.map {
                $0.attributes["name"] == name && $0.name == "attribute" ? ElementTree("attribute") : without($0)
            }
            return tree
        }
        #expect(without(written) == without(tree), "\(tree)")
        let read = try #require(ModelFolder(versions: ["Shop": text]).read().documents["Shop"]?.model)
        #expect(read == document.model)
    }
}
