// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
package import ModelFile

/// Holds the classes that models name against the sources that should declare them, and `@NSManaged` members against
/// the models.
///
/// Each finding is one that Core Data would make at run time, most by ending the process. It is an error only where that
/// is certain whichever path the program takes to it; where code that was not read could make it right, it is a warning.
package struct ClassChecks {
    struct Subject {
        let entity: Entity
        let compilation: ModelFileContents
    }

    let subjects: [Subject]
    let sources: AccessorSources
    private var results: [Diagnostic] = []

    package init(_ compilations: [ModelFileContents], sources: AccessorSources) {
        self.sources = sources
        subjects = compilations.flatMap { compilation in
            compilation.compiled.current.entities.map { Subject(entity: $0, compilation: compilation) }
        }
    }

    package func findings() -> [Diagnostic] {
        var checks = self
        for subject in subjects where subject.entity.className != "NSManagedObject" { checks.checkClass(of: subject) }
        checks.checkMembers()
        return checks.results
    }

    mutating func report(_ severity: Diagnostic.Severity, _ file: String, _ line: Int?, _ message: String) {
        let finding = Diagnostic(severity, file: file, line: line, message)
        if !results.contains(finding) { results.append(finding) }
    }

    // MARK: Classes

    private mutating func checkClass(of subject: Subject) {
        let (entity, model) = (subject.entity, subject.compilation)
        let line = model.lines[entity.name]
        if entity.codeGeneration == .class {
            guard let own = sources.own.types[entity.className], own.conditions.isEmpty else { return }
            return report(
                .error, model.currentFile, line,
                "\(entity.name) asks for a generated class '\(entity.className)', which \(own.file):\(own.line) declares as well; "
                    + "set Codegen to Category/Extension or Manual/None")
        }
        guard let found = declaration(named: entity.className) else {
            if let other = declaration(exposedAs: entity.className) {
                return report(
                    .warning, model.currentFile, line,
                    "\(entity.name) has the class '\(entity.className)', which is the Objective-C name of '\(other)'; without Objective-C "
                        + "classes are found by their names in Swift")
            }
            if isAliased(entity.className) { return }
            return report(
                .warning, model.currentFile, line,
                "\(entity.name) has the class '\(entity.className)', which is declared neither in module \(sources.own.module) nor in those it "
                    + "uses; its objects would be of the class NSManagedObject")
        }
        guard isManaged(found) == false else { return }
        report(
            .error, found.file, found.line,
            "'\(entity.className)' isn't a subclass of NSManagedObject, and entity \(entity.name) has it as its class")
    }

    /// The type of a name, however deep it is nested: models leave out the types around a class.
    func declaration(named name: String) -> SourceIndex.TypeDeclaration? {
        if let own = Self.declaration(named: name, in: sources.own) { return own }
        return sources.dependencies.lazy.compactMap { Self.declaration(named: name, in: $0) }.first
    }

    private static func declaration(named name: String, in index: SourceIndex) -> SourceIndex.TypeDeclaration? {
        index.types[name] ?? index.types.filter { $0.key.hasSuffix(".\(name)") }.min { $0.key < $1.key }?.value
    }

    private func declaration(exposedAs name: String) -> String? {
        sources.own.types.filter { $0.value.exposedName == name }.map(\.key).min()
    }

    private func isAliased(_ name: String) -> Bool {
        ([sources.own] + sources.dependencies).contains { index in
            index.aliases.keys.contains { $0 == name || $0.hasSuffix(".\(name)") }
        }
    }

    /// - Returns: nil where a superclass is not among the sources.
    private func isManaged(_ declaration: SourceIndex.TypeDeclaration) -> Bool? {
        var current = declaration
        for _ in 0..<100 {
            guard current.kind == .class else { return false }
            guard let first = current.inherits.first else { return false }
            let name = first.split(separator: ".").last.map(String.init) ?? first
            if name == "NSManagedObject" { return true }
            if isGenerated(name) { return true }
            guard let next = self.declaration(named: name) else { return nil }
            // The first inherited type is a protocol, so the class has no superclass.
            if next.kind == .protocol { return false }
            current = next
        }
        return nil
    }

    private func isGenerated(_ name: String) -> Bool {
        subjects.contains { $0.entity.className == name && $0.entity.codeGeneration == .class }
    }
}
