// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import ManagedModel
import ModelFile
import ModelTool

/// `tarn model edit`: changes of a model's current version.
struct ModelEditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Change a model without Xcode.",
        discussion: """
            Each command changes the current version of an .xcdatamodeld, in the form and order that Xcode's editor writes, and leaves the \
            rest of the file as it is. A change after which the model is invalid is refused. Once an app with the model is released, begin \
            a new version with add-version first, so that its stores can be migrated.
            """,
        subcommands: [AddEntity.self, AddAttribute.self, AddRelationship.self, Rename.self, Remove.self, AddVersion.self])

    struct Target: ParsableArguments {
        @Argument(help: "The .xcdatamodeld.", completion: .directory)
        var path: String

        /// Applies an edit, and reports whether stores can be migrated by inference.
        func apply(_ edit: ModelEdit, _ sentence: String, _ output: OutputOptions) throws {
            let folder = try ModelFolder(path)
            let contents = try folder.read()
            let current = contents.compiled.currentVersion
            guard var document = contents.documents[current] else { throw CommandError("The model \(path) has no current version.") }
            let old = document.model
            try edit.apply(to: &document.model)
            var versions = contents.documents
            versions[current] = document
            try folder.write(versions, current: current)
            let difference = ModelDifference(from: old, to: document.model)
            output.print(
                "\(current): \(sentence)",
                [
                    "version": JSONText.string(current), "change": JSONText.string(sentence), "inferable": "\(difference.isInferable)",
                    "allowedWhenSynced": "\(difference.isAllowedWhenSynced)",
                ])
            if output.json { return }
            if !difference.isInferable {
                Output.note("Stores of the model before cannot be migrated without a mapping: 'tarn model diff' says why.")
            }
            if !difference.isAllowedWhenSynced {
                Output.note(
                    "A synced store does not allow it: devices with other versions would not share these values. 'tarn model diff' lists them."
                )
            }
        }
    }

    /// Splits `Entity.property`.
    static func parts(_ subject: String) -> (entity: String, property: String?) {
        let parts = subject.split(separator: ".", maxSplits: 1).map(String.init)
        return (parts.first ?? "", parts.count > 1 ? parts[1] : nil)
    }
}

extension ModelEditCommand {
    struct AddEntity: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-entity", abstract: "Add an entity.",
            discussion: Help.discussion(
                "Attributes have the form NAME:TYPE, with ! for a required one and =VALUE for a default.",
                examples: "tarn model edit add-entity Notes.xcdatamodeld Folder name:String",
                "tarn model edit add-entity Notes.xcdatamodeld Memo --parent Note"))

        @OptionGroup var target: Target
        @Argument(help: "Name of the entity.")
        var name: String
        @Argument(help: ArgumentHelp("Attributes.", valueName: "name:type"))
        var attributes: [String] = []
        @Option(help: ArgumentHelp("Parent entity.", valueName: "name"))
        var parent: String?
        @Flag(help: "The entity has no objects of its own, only those of subentities.")
        var abstract = false
        @OptionGroup var output: OutputOptions

        func run() throws {
            var entity = Entity(name: name, className: name, superentity: parent, isAbstract: abstract)
            entity.codeGeneration = .class
            entity.attributes = try attributes.map { try AttributeText($0).attribute }
            try target.apply(.addEntity(entity), "added the entity \(name)", output)
        }
    }

    struct AddAttribute: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-attribute", abstract: "Add an attribute to an entity.",
            discussion: Help.discussion(
                "Types: \(AttributeText.types). Numbers and Booleans have the default 0 or NO unless another is given.",
                examples: "tarn model edit add-attribute Notes.xcdatamodeld Note.title String",
                "tarn model edit add-attribute Notes.xcdatamodeld Note.stars Integer16 --required --default 3"))

        @OptionGroup var target: Target
        @Argument(help: "The entity and the new attribute, such as Note.title.")
        var attribute: String
        @Argument(help: "Type, such as String.")
        var type: String
        @Flag(help: "Every object needs a value.")
        var required = false
        @Option(name: .customLong("default"), help: ArgumentHelp("Value of new objects.", valueName: "value"))
        var defaultValue: String?
        @OptionGroup var output: OutputOptions

        func run() throws {
            guard case let (entity, name?) = ModelEditCommand.parts(attribute) else {
                throw CommandError("'\(attribute)' names no attribute: write ENTITY.NAME, such as Note.title.")
            }
            let added = try AttributeText.attribute(name, type, isRequired: required, default: defaultValue)
            try target.apply(.addAttribute(added, entity: entity), "added the attribute \(attribute) (\(added.type.modelText))", output)
        }
    }

    enum Rule: String, ExpressibleByArgument, CaseIterable {
        case nullify, cascade, deny
        case noAction = "no-action"

        var rule: DeleteRule {
            switch self {
            case .nullify: .nullify
            case .cascade: .cascade
            case .deny: .deny
            case .noAction: .noAction
            }
        }
    }

    struct AddRelationship: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-relationship", abstract: "Add a relationship and its inverse.",
            discussion: Help.discussion(
                "Both sides are optional, as CloudKit needs it.",
                examples: "tarn model edit add-relationship Notes.xcdatamodeld Folder.notes Note.folder --to-many --delete-rule cascade",
                "tarn model edit add-relationship Notes.xcdatamodeld Note.tags Tag.notes --to-many --inverse-to-many"))

        @OptionGroup var target: Target
        @Argument(help: "The relationship, such as Folder.notes.")
        var relationship: String
        @Argument(help: "Its inverse on the destination, such as Note.folder.")
        var inverse: String
        @Flag(help: "The relationship has many objects.")
        var toMany = false
        @Flag(help: "The inverse has many objects.")
        var inverseToMany = false
        @Flag(help: "The objects of the relationship have an order.")
        var ordered = false
        @Option(
            help: ArgumentHelp(
                "nullify, cascade, deny or no-action: the effect on the other side when an object is deleted.", valueName: "rule"))
        var deleteRule = Rule.nullify
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard toMany || !ordered else { throw ValidationError("--ordered goes with --to-many.") }
        }

        func run() throws {
            guard case let (entity, name?) = ModelEditCommand.parts(relationship),
                case let (destination, inverseName?) = ModelEditCommand.parts(inverse)
            else {
                throw CommandError("Write both sides as ENTITY.NAME, such as Folder.notes Note.folder.")
            }
            let there = Relationship(
                name: name, destination: destination, inverse: inverseName, isToMany: toMany, isOrdered: ordered,
                deleteRule: deleteRule.rule)
            let back = Relationship(name: inverseName, destination: entity, inverse: name, isToMany: inverseToMany)
            try target.apply(
                .addRelationship(there, inverse: back, entity: entity),
                "added the relationship \(relationship) with the inverse \(inverse)", output)
        }
    }

    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rename an entity or a property.",
            discussion: Help.discussion(
                """
                The old name becomes the renaming identifier, by which a migration finds the values. Inverses, indexes, constraints and \
                configurations follow; predicates and expressions with the old name are refused.
                """, examples: "tarn model edit rename Notes.xcdatamodeld Note.title headline",
                "tarn model edit rename Notes.xcdatamodeld Note Memo"))

        @OptionGroup var target: Target
        @Argument(help: "An entity, or ENTITY.PROPERTY.")
        var subject: String
        @Argument(help: "The new name, without the entity.")
        var newName: String
        @OptionGroup var output: OutputOptions

        func run() throws {
            let (entity, property) = ModelEditCommand.parts(subject)
            let edit: ModelEdit = property.map { .renameProperty($0, entity: entity, to: newName) } ?? .renameEntity(entity, to: newName)
            try target.apply(edit, "renamed \(subject) to \(newName)", output)
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an entity or a property.",
            discussion: Help.discussion(
                "A relationship is removed with its inverse, an entity with the relationships to it.",
                examples: "tarn model edit remove Notes.xcdatamodeld Note.stars", "tarn model edit remove Notes.xcdatamodeld Folder"))

        @OptionGroup var target: Target
        @Argument(help: "An entity, or ENTITY.PROPERTY.")
        var subject: String
        @OptionGroup var output: OutputOptions

        func run() throws {
            let (entity, property) = ModelEditCommand.parts(subject)
            let edit: ModelEdit = property.map { .removeProperty($0, entity: entity) } ?? .removeEntity(entity)
            try target.apply(edit, "removed \(subject)", output)
        }
    }

    struct AddVersion: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add-version", abstract: "Add a model version, a copy of the current one, and make it current.",
            discussion: Help.discussion(
                "Renaming identifiers of the version before are cleared in the new one: they name its own predecessor.",
                examples: "tarn model edit add-version Notes.xcdatamodeld", "tarn model edit add-version Notes.xcdatamodeld 'Notes 2030'"))

        @OptionGroup var target: Target
        @Argument(help: "Name of the version. (default: the model's name and a number)")
        var name: String?
        @OptionGroup var output: OutputOptions

        func run() throws {
            let folder = try ModelFolder(target.path)
            let contents = try folder.read()
            let current = contents.compiled.currentVersion
            let numbered = (2...10_000).lazy.map { "\(contents.name) \($0)" }.first { contents.documents[$0] == nil }
            guard let version = name ?? numbered, var document = contents.documents[current] else {
                throw CommandError("The model \(target.path) has too many versions: name the new one.")
            }
            guard contents.documents[version] == nil, !version.isEmpty, !version.contains("/") else {
                throw CommandError(
                    "'\(version)' isn't a valid new version: there are \(contents.documents.keys.sorted().joined(separator: ", ")).")
            }
            for index in document.model.entities.indices {
                document.model.entities[index].renamingIdentifier = nil
                for place in document.model.entities[index].attributes.indices {
                    document.model.entities[index].attributes[place].renamingIdentifier = nil
                }
                for place in document.model.entities[index].relationships.indices {
                    document.model.entities[index].relationships[place].renamingIdentifier = nil
                }
            }
            var versions = contents.documents
            versions[version] = document
            try folder.write(versions, current: version)
            output.print(
                "\(version): current, a copy of \(current)", ["version": JSONText.string(version), "copyOf": JSONText.string(current)])
        }
    }
}
