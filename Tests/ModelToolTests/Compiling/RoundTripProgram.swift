// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelTool

/// Swift that makes an object of each entity of some models, through generated classes alone, saves it, and reads it in
/// another context.
struct RoundTripProgram {
    let models: [(name: String, model: Model)]

    /// Classes that generated extensions, and models without generated code, expect.
    var handWritten: String {
        var text = "public import CoreData\n\n"
        for (_, model) in models {
            for entity in model.entities where entity.codeGeneration != .class && entity.className != "NSManagedObject" {
                text += "nonisolated public class \(entity.className): \(superclass(of: entity, in: model)) {}\n"
            }
        }
        return text
    }

    private func superclass(of entity: Entity, in model: Model) -> String {
        entity.superentity.flatMap { name in model.entities.first { $0.name == name }?.className } ?? "NSManagedObject"
    }

    var main: String {
        """
        import CoreData
        import Foundation

        nonisolated(unsafe) var failures = 0  // One thread.
        func check(_ ok: Bool, _ what: String) { if !ok { failures += 1; print("wrong: \\(what)") } }

        func container(_ name: String) -> NSPersistentContainer {
            let container = NSPersistentContainer(name: name)
            let store = NSPersistentStoreDescription(url: URL(fileURLWithPath: CommandLine.arguments[1]).appendingPathComponent(name + ".sqlite"))
            container.persistentStoreDescriptions = [store]
            container.loadPersistentStores { _, error in if let error { check(false, "\\(name): \\(error)") } }
            return container
        }

        \(models.map { function(for: $0.model, named: $0.name) }.joined(separator: "\n"))
        \(models.map { "do { try roundTrip\($0.name)() } catch { check(false, \"\($0.name): \\(error)\") }" }.joined(separator: "\n"))
        print("failures: \\(failures)")
        """
    }

    private func function(for model: Model, named name: String) -> String {
        let entities = model.entities.filter { !$0.isAbstract && $0.codeGeneration != .manual }
        var (make, fetch) = ([String](), [String]())
        for entity in entities {
            let object = "made\(entity.name)"
            make.append("let \(object) = \(entity.className)(context: context)")
            fetch.append("let read\(entity.name) = try fetched(\(entity.className).fetchRequest(), \"\(entity.name)\")")
            for (attribute, isDefined) in chain(of: entity, in: model) where isDefined {
                guard attribute.derivationExpression == nil, let value = Value(attribute, entity.name, model) else { continue }
                let property =
                    "\(attribute.name == "default" || attribute.name == "repeat" || attribute.name == "switch" || attribute.name == "where" ? "`\(attribute.name)`" : attribute.name)"
                make.append("\(object).\(property) = \(value.literal)")
                make.append("check(\(value.test("\(object).\(property)")), \"\(name) \(entity.name).\(attribute.name) in memory\")")
                if !attribute.isTransient {
                    fetch.append(
                        "check(\(value.test("read\(entity.name).\(property)")), \"\(name) \(entity.name).\(attribute.name) read\")")
                }
            }
        }
        make += relations(entities, model, name)
        return """
            func roundTrip\(name)() throws {
                let container = container("\(name)")
                let context = container.viewContext
            \(make.map { "    \($0)" }.joined(separator: "\n"))
                do { try context.save() } catch { check(false, "\(name) save: \\(error)") }
                let other = container.newBackgroundContext()
                try other.performAndWait {
                    func fetched<T: NSManagedObject>(_ request: NSFetchRequest<T>, _ entity: String) throws -> T {
                        request.includesSubentities = false
                        let found = try other.fetch(request)
                        check(found.count == 1 && found.first?.entity.name == entity, "\(name) fetch of \\(entity)")
                        guard let first = found.first else { throw CocoaError(.fileNoSuchFile) }
                        return first
                    }
            \(fetch.map { "        \($0)" }.joined(separator: "\n"))
                }
            }
            """
    }

    /// Adds through the generated methods, and looks at both sides.
    private func relations(_ entities: [Entity], _ model: Model, _ name: String) -> [String] {
        var lines: [String] = []
        for entity in entities {
            for relationship in entity.relationships {
                guard let destination = entities.first(where: { $0.name == relationship.destination }) else { continue }
                let (from, to) = ("made\(entity.name)", "made\(destination.name)")
                let suffix = relationship.name.prefix(1).uppercased() + relationship.name.dropFirst()
                let subject = "\"\(name) \(entity.name).\(relationship.name)\""
                guard relationship.isToMany else {
                    lines += ["\(from).\(relationship.name) = \(to)", "check(\(from).\(relationship.name) === \(to), \(subject))"]
                    continue
                }
                lines += ["\(from).addTo\(suffix)(\(to))", "check(\(from).\(relationship.name)?.contains(\(to)) == true, \(subject))"]
                if relationship.isOrdered {
                    lines += [
                        "\(from).removeFrom\(suffix)(at: 0)", "check(\(from).\(relationship.name)?.count == 0, \(subject))",
                        "\(from).insertInto\(suffix)([\(to)], at: NSIndexSet(index: 0))",
                        "check(\(from).\(relationship.name)?.firstObject as AnyObject === \(to), \(subject))",
                    ]
                }
                lines += ["\(from).removeFrom\(suffix)(\(to))", "check(\(from).\(relationship.name)?.count == 0, \(subject))"]
            }
            for property in entity.fetchedProperties { lines.append("_ = \(from(entity)).\(property.name)?.first?.objectID") }
        }
        return lines
    }

    private func from(_ entity: Entity) -> String { "made\(entity.name)" }

    /// Attributes of an entity and its ancestors, with whether generated code has a property for each.
    private func chain(of entity: Entity, in model: Model) -> [(Attribute, Bool)] {
        let own = entity.attributes.map { ($0, entity.codeGeneration != .manual && entity.className != "NSManagedObject") }
        guard let parent = entity.superentity.flatMap({ name in model.entities.first { $0.name == name } }) else { return own }
        return chain(of: parent, in: model) + own
    }
}

/// A value of an attribute in source, and how it is recognised.
private struct Value {
    let literal: String
    let test: (String) -> String

    init?(_ attribute: Attribute, _ entity: String, _ model: Model) {
        func equal(_ literal: String) -> (String, (String) -> String) { (literal, { "\($0) == \(literal)" }) }
        func number(_ scalar: String, _ object: String) -> (String, (String) -> String) {
            equal(attribute.usesScalarValueType ? scalar : object)
        }
        switch attribute.type {
        case .integer16, .integer32, .integer64: (literal, test) = number("7", "NSNumber(value: 7)")
        case .double, .float: (literal, test) = number("1.5", "NSNumber(value: 1.5)")
        case .boolean: (literal, test) = number("true", "NSNumber(value: true)")
        case .decimal: (literal, test) = equal("NSDecimalNumber(string: \"2.5\")")
        case .string: (literal, test) = equal("\"text of \(entity)\"")
        case .date: (literal, test) = equal(attribute.usesScalarValueType ? "1000.5" : "Date(timeIntervalSinceReferenceDate: 1000.5)")
        case .binaryData: (literal, test) = equal("Data([1, 2, 3])")
        case .uuid: (literal, test) = equal("UUID(uuidString: \"11111111-2222-4333-8444-555555555555\")")
        case .uri: (literal, test) = equal("URL(string: \"https://example.org/\(entity)\")")
        case .transformable:
            switch attribute.valueClassName {
            case "[String]": (literal, test) = equal("[\"a\", \"b\"]")
            case "NSArray": (literal, test) = equal("NSArray(array: [\"a\", \"b\"])")
            default: (literal, test) = ("NSString(string: \"a\")", { "(\($0) as? NSString) == NSString(string: \"a\")" })
            }
        case .undefined: (literal, test) = ("NSString(string: \"a\")", { "(\($0) as? NSString) == NSString(string: \"a\")" })
        case .composite:
            guard
                let leaf = model.composites.first(where: { $0.name == attribute.compositeName })?.attributes.first(where: {
                    $0.type == .string
                })
            else { return nil }
            (literal, test) = ("[\"\(leaf.name)\": \"leaf\"]", { "\($0)?[\"\(leaf.name)\"] as? String == \"leaf\"" })
        case .objectID: return nil
        }
    }
}
