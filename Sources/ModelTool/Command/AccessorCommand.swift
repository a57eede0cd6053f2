// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelFile

/// The verb `accessors` of `modelc`: sources in, bodies of their `@NSManaged` members out.
package enum AccessorCommand {
    package static let usage = """
        usage: modelc accessors --module MODULE --swift OUT.swift [--model MODEL]... SOURCE... [--dependency MODULE SOURCE...]...

          --module      the module that the sources make up
          --swift       where to write the bodies of its @NSManaged members
          --model       a model whose classes are checked against the sources
          --dependency  another module and its sources, which are read only if a type is declared in them

        The file is written only when its contents change.
        """

    struct Mistake: Error, Equatable { let what: String }

    struct Arguments: Equatable {
        struct Module: Equatable {
            var name: String
            var sources: [String] = []
        }

        var swift = ""
        var own = Module(name: "")
        var models: [String] = []
        var dependencies: [Module] = []

        /// - Parameter arguments: Without the name of the program and without the verb.
        init(_ arguments: some Sequence<String>) throws(Mistake) {
            var iterator = arguments.makeIterator()
            func value(of option: String) throws(Mistake) -> String {
                guard let value = iterator.next(), !value.hasPrefix("-") else { throw Mistake(what: "\(option) needs a value") }
                return value
            }
            while let argument = iterator.next() {
                switch argument {
                case "--module": own.name = try value(of: argument)
                case "--swift": swift = try value(of: argument)
                case "--model": models.append(try value(of: argument))
                case "--dependency": dependencies.append(Module(name: try value(of: argument)))
                default:
                    if argument.hasPrefix("-") { throw Mistake(what: "unknown option '\(argument)'") }
                    if dependencies.isEmpty {
                        own.sources.append(argument)
                    } else {
                        dependencies[dependencies.count - 1].sources.append(argument)
                    }
                }
            }
            if own.name.isEmpty { throw Mistake(what: "no module given: --module MODULE") }
            if swift.isEmpty { throw Mistake(what: "nothing to write: give --swift") }
        }
    }

    /// - Parameters:
    ///   - arguments: Without the name of the program and without the verb.
    ///   - complain: Called with each line for standard error.
    /// - Returns: The exit code: 0 when the file is as it should be, 1 otherwise.
    package static func run(_ arguments: some Sequence<String>, complain: (String) -> Void) -> Int32 {
        do throws(Mistake) {
            let parsed = try Arguments(arguments)
            let sources = AccessorSources(try index(parsed.own)) { try? parsed.dependencies.map { try index($0) } }
            try write(source(for: sources), to: parsed.swift)
            // The command that compiles a model reports its errors.
            let models = parsed.models.compactMap {
                try? ModelFileReader.read(contentsOf: URL(fileURLWithPath: $0), module: parsed.own.name)
            }
            let findings = ClassChecks(models, sources: sources).findings()
            for finding in findings { complain(finding.description) }
            return findings.contains { $0.severity == .error } ? 1 : 0
        } catch {
            complain("modelc: error: \(error.what)\n\(usage)")
            return 1
        }
    }

    private static func source(for sources: AccessorSources) -> String {
        var writer = AccessorWriter(own: sources.own, dependencies: [])
        if writer.hasUnresolvedTypes { writer = AccessorWriter(own: sources.own, dependencies: sources.dependencies) }
        return writer.source()
    }

    private static func index(_ module: Arguments.Module) throws(Mistake) -> SourceIndex {
        var index = SourceIndex(module: module.name)
        for path in module.sources {
            guard let data = FileManager.default.contents(atPath: path) else { throw Mistake(what: "cannot read '\(path)'") }
            index.add(String(decoding: data, as: UTF8.self), file: path)
        }
        return index
    }

    private static func write(_ text: String, to path: String) throws(Mistake) {
        let data = Data(text.utf8)
        if FileManager.default.contents(atPath: path) == data { return }
        do {
            try data.write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw Mistake(what: "cannot write '\(path)': \(error.localizedDescription)")
        }
    }
}
