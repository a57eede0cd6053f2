// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile

/// What `modelc` was asked to do. Parsed by hand: the tool is built for the host of every package that uses the
/// plugin, and has no dependencies.
struct ModelCompilerArguments: Equatable {
    var model: String
    var swift: String?
    var compiled: String?
    var module: String?

    struct Mistake: Error, Equatable { let what: String }

    /// - Parameter arguments: Without the name of the program and without the verb.
    init(_ arguments: some Sequence<String>) throws(Mistake) {
        var model: String?
        var iterator = arguments.makeIterator()
        while let argument = iterator.next() {
            switch argument {
            case "--swift": swift = try Self.value(of: argument, from: &iterator, given: swift)
            case "--compiled": compiled = try Self.value(of: argument, from: &iterator, given: compiled)
            case "--module": module = try Self.value(of: argument, from: &iterator, given: module)
            default:
                if argument.hasPrefix("-") { throw Mistake(what: "unknown option '\(argument)'") }
                if model != nil { throw Mistake(what: "more than one model: '\(argument)'") }
                model = argument
            }
        }
        guard let model else { throw Mistake(what: "no model given") }
        guard swift != nil || compiled != nil else {
            throw Mistake(what: "nothing to write: give --swift or --compiled")
        }
        self.model = model
    }

    private static func value(
        of option: String, from iterator: inout some IteratorProtocol<String>, given: String?
    ) throws(Mistake) -> String {
        if given != nil { throw Mistake(what: "\(option) is given twice") }
        guard let value = iterator.next(), !value.hasPrefix("-") else { throw Mistake(what: "\(option) needs a value") }
        return value
    }
}

/// The `modelc` command: a model file in, Swift and a compiled model out.
package enum ModelCompilerCommand {
    package static let usage = """
        usage: modelc compile MODEL [--swift OUT.swift] [--compiled OUT.momd] [--module MODULE]

          MODEL       an .xcdatamodeld folder, or a single .xcdatamodel
          --swift     where to write the generated classes and the model's registration
          --compiled  where to write the compiled model: a folder with a file for each version
          --module    the module that the generated classes will be part of

        A file is written only when its contents change.
        """

    /// - Parameters:
    ///   - arguments: Without the name of the program.
    ///   - complain: Called with each line for standard error.
    ///   - say: Called with each line for standard output.
    /// - Returns: The exit code: 0 when all was written, 1 otherwise.
    package static func run(
        _ arguments: [String], complain: (String) -> Void, say: (String) -> Void
    ) -> Int32 {
        switch arguments.first {
        case "--help", "-h", "help":
            say(usage)
            return 0
        case "compile":
            break
        case nil:
            complain(usage)
            return 1
        case .some(let verb):
            complain("modelc: error: unknown command '\(verb)'\n\(usage)")
            return 1
        }
        let parsed: ModelCompilerArguments
        do {
            parsed = try ModelCompilerArguments(arguments.dropFirst())
        } catch {
            complain("modelc: error: \(error.what)\n\(usage)")
            return 1
        }
        return compile(parsed, complain: complain)
    }

    private static func compile(_ arguments: ModelCompilerArguments, complain: (String) -> Void) -> Int32 {
        do {
            let url = URL(fileURLWithPath: arguments.model)
            let compilation = try ModelFileReader.read(contentsOf: url, module: arguments.module)
            for warning in compilation.warnings { complain(warning.description) }
            if let path = arguments.swift {
                let source = try SwiftWriter(compilation, module: arguments.module).source()
                try write(Data(source.utf8), to: path)
            }
            if let path = arguments.compiled { try writeFolder(try compilation.compiled.files(), to: path) }
            return 0
        } catch let error as ModelFileError {
            for diagnostic in error.diagnostics { complain(diagnostic.description) }
        } catch {
            complain("\(arguments.model): error: \(error)")
        }
        return 1
    }

    /// Makes a folder hold these files and no others. A file in the folder's place, as earlier releases wrote it, is replaced.
    private static func writeFolder(_ files: [String: Data], to path: String) throws {
        let manager = FileManager.default
        var isFolder: ObjCBool = false
        do {
            if manager.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue { try manager.removeItem(atPath: path) }
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch  where isFolder.boolValue {
            // The folder exists.
        } catch {
            throw ModelFileError([Diagnostic(.error, file: path, "cannot be written: \(error.localizedDescription)")])
        }
        for name in try manager.contentsOfDirectory(atPath: path) where files[name] == nil {
            try manager.removeItem(atPath: "\(path)/\(name)")
        }
        for (name, data) in files.sorted(by: { $0.key < $1.key }) { try write(data, to: "\(path)/\(name)") }
    }

    /// Writes only a file that changes, so that nothing else is rebuilt.
    private static func write(_ data: Data, to path: String) throws {
        if FileManager.default.contents(atPath: path) == data { return }
        do {
            try data.write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            let diagnostic = Diagnostic(.error, file: path, "cannot be written: \(error.localizedDescription)")
            throw ModelFileError([diagnostic])
        }
    }
}
