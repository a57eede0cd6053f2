// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import ModelFile
import ModelTool

/// `tarn model graph PATH`: a drawing of a model.
struct ModelGraphCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable { case svg, mermaid, dot }

    static let configuration = CommandConfiguration(
        commandName: "graph", abstract: "Draw a model.",
        discussion: Help.discussion(
            """
            Draws the current version: entities with their attributes, parents, and relationships with their numbers. SVG follows the \
            reader's light or dark colours. Mermaid is drawn by many web sites in Markdown, DOT by Graphviz. With --json the entities and \
            relationships are printed as data.
            """,
            examples: "tarn model graph Notes.xcdatamodeld --output notes.svg", "tarn model graph Notes.xcdatamodeld --format mermaid"))

    @Argument(help: "An .xcdatamodeld, an .xcdatamodel, or a compiled .momd.", completion: .directory)
    var path: String
    @Option(help: "svg, mermaid or dot.")
    var format = Format.svg
    @Option(name: .customLong("output"), help: ArgumentHelp("File to write; standard output if left out.", valueName: "path"))
    var file: String?
    @OptionGroup var output: OutputOptions

    func run() throws {
        let graph = ModelGraph(try model())
        if output.json { return Output.line(graph.json) }
        let text =
            switch format {
            case .svg: ModelDrawing(graph).svg
            case .mermaid: graph.mermaid
            case .dot: graph.dot
            }
        guard let file else { return Output.text(text) }
        do {
            try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
        } catch {
            throw CommandError("The file \(file) cannot be written: check its folder and the disk, or choose another with --output.")
        }
    }

    private func model() throws -> Model {
        let url = URL(fileURLWithPath: path)
        do {
            guard ["xcdatamodel", "xcdatamodeld"].contains(url.pathExtension) else { return try CompiledModel(contentsOf: url).current }
            return try ModelFileReader.read(contentsOf: url).compiled.current
        } catch let error as ModelFileError {
            throw CommandError(error.diagnostics.map(\.description).joined(separator: "\n"))
        } catch {
            throw CommandError("'\(path)' isn't a readable model: give an .xcdatamodel, an .xcdatamodeld or a .momd.")
        }
    }
}

/// The parts of a model that a drawing shows, in a stable order.
struct ModelGraph {
    struct Node {
        var name: String
        var parent: String?
        var isAbstract: Bool
        var attributes: [(name: String, type: String, isRequired: Bool)]
    }

    /// A relationship with its inverse: one line of the drawing.
    struct Edge: Equatable {
        struct End: Equatable {
            var entity: String
            /// Name of the relationship that leads to this end; nil without an inverse.
            var name: String?
            var isMany: Bool
        }

        var source: End
        var destination: End
    }

    let nodes: [Node]
    let edges: [Edge]

    init(_ model: Model) {
        let entities = model.entities.sorted { $0.name < $1.name }
        nodes = entities.map { entity in
            Node(
                name: entity.name, parent: entity.superentity, isAbstract: entity.isAbstract,
                attributes: entity.attributes.sorted { $0.name < $1.name }.map { ($0.name, $0.type.modelText, !$0.isOptional) })
        }
        var edges: [Edge] = []
        for entity in entities {
            for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
                let inverse = relationship.inverse
                let isDrawn = edges.contains { edge in
                    edge.source.name == relationship.name && edge.destination.name == inverse && edge.destination.entity == entity.name
                        && edge.source.entity == relationship.destination
                }
                if isDrawn { continue }
                let back = entities.first { $0.name == relationship.destination }?.relationships.first { $0.name == inverse }
                edges.append(
                    Edge(
                        source: Edge.End(entity: entity.name, name: inverse, isMany: back?.isToMany ?? true),
                        destination: Edge.End(entity: relationship.destination, name: relationship.name, isMany: relationship.isToMany)))
            }
        }
        self.edges = edges
    }

    var json: String {
        let nodes = nodes.map { node in
            let attributes = node.attributes.map {
                #"{"name":\#(JSONText.string($0.name)),"type":\#(JSONText.string($0.type)),"isRequired":\#($0.isRequired)}"#
            }
            let parent = node.parent.map(JSONText.string) ?? "null"
            return
                #"{"name":\#(JSONText.string(node.name)),"parent":\#(parent),"isAbstract":\#(node.isAbstract),"attributes":[\#(attributes.joined(separator: ","))]}"#
        }
        func end(_ end: Edge.End) -> String {
            #"{"entity":\#(JSONText.string(end.entity)),"name":\#(end.name.map(JSONText.string) ?? "null"),"isMany":\#(end.isMany)}"#
        }
        let edges = edges.map { "[\(end($0.source)),\(end($0.destination))]" }
        return #"{"entities":[\#(nodes.joined(separator: ","))],"relationships":[\#(edges.joined(separator: ","))]}"#
    }

    /// Source: Mermaid, "Class diagrams".
    var mermaid: String {
        var lines = ["classDiagram"]
        for node in nodes {
            lines.append("    class \(node.name) {")
            if node.isAbstract { lines.append("        <<abstract>>") }
            lines += node.attributes.map { "        \($0.type.replacing(" ", with: "")) \($0.name)" }
            lines.append("    }")
            if let parent = node.parent { lines.append("    \(parent) <|-- \(node.name)") }
        }
        for edge in edges {
            let label = [edge.destination.name, edge.source.name].compactMap(\.self).joined(separator: " / ")
            lines.append(
                "    \(edge.source.entity) \"\(edge.source.isMany ? "*" : "1")\" -- \"\(edge.destination.isMany ? "*" : "1")\" \(edge.destination.entity) : \(label)"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Source: Graphviz, "DOT Language"; names of entities are identifiers, and need no quotation.
    var dot: String {
        var lines = [
            "digraph model {", "    node [shape=record fontname=\"Helvetica\"];", "    edge [fontname=\"Helvetica\" fontsize=10 dir=both];",
        ]
        for node in nodes {
            let attributes = node.attributes.map { "\($0.name): \($0.type)\($0.isRequired ? "!" : "")\\l" }.joined()
            lines.append("    \"\(node.name)\" [label=\"{\(node.name)|\(attributes)}\"];")
            if let parent = node.parent { lines.append("    \"\(node.name)\" -> \"\(parent)\" [dir=forward arrowhead=empty];") }
        }
        for edge in edges {
            lines.append(
                "    \"\(edge.source.entity)\" -> \"\(edge.destination.entity)\" [headlabel=\"\(edge.destination.name ?? "")\" taillabel=\"\(edge.source.name ?? "")\" "
                    + "arrowhead=\(edge.destination.isMany ? "crow" : "none") arrowtail=\(edge.source.isMany ? "crow" : "none")];")
        }
        return lines.joined(separator: "\n") + "\n}\n"
    }
}
