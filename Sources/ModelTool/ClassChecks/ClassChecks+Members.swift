// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelFile

extension ClassChecks {
    mutating func checkMembers() {
        let resolver = TypeResolver(own: sources.own, dependencies: [])
        var known: [String: [Subject]] = [:]
        for member in sources.own.members {
            guard let owner = member.scope.last else { continue }
            let subjects = known[owner] ?? self.subjects(ofClass: owner)
            known[owner] = subjects
            // A class that no model of this target names belongs to a model elsewhere.
            if !subjects.isEmpty { check(member, owner, subjects, resolver) }
        }
    }

    private mutating func check(
        _ member: SourceIndex.ManagedMember, _ owner: String, _ subjects: [Subject], _ resolver: TypeResolver
    ) {
        // Whether a member under a condition is compiled is not known here.
        let severity: Diagnostic.Severity = member.conditions.isEmpty ? .error : .warning
        let entities = Array(Set(subjects.map(\.entity.name))).sorted().joined(separator: ", ")
        switch member.kind {
        case .property(let type, let text):
            let properties = subjects.flatMap { self.properties(named: member.name, of: $0) }
            if properties.isEmpty {
                if primitiveNames(member.name).contains(where: { name in subjects.contains { !self.properties(named: name, of: $0).isEmpty }
                }) {
                    return
                }
                return report(
                    severity, member.file, member.line,
                    "@NSManaged \(owner).\(member.name): entity \(entities) has no property of this name; its first use would end the process"
                )
            }
            guard let type, let resolved = try? resolver.resolve(type, in: member.scope) else { return }
            let reasons = properties.map { PropertyFit.obstacle(resolved, $0) }
            guard let reason = reasons.first, let reason, reasons.allSatisfy({ $0 != nil }) else { return }
            report(severity, member.file, member.line, "@NSManaged \(owner).\(member.name) is a '\(text)', and \(reason)")
        case .method(let parameters, _):
            let isCollection = parameters.contains { parameter in
                guard case .named(let components) = parameter.type else { return false }
                return ["NSSet", "NSOrderedSet", "NSArray", "NSIndexSet", "IndexSet", "Set"].contains(components.last?.name ?? "")
            }
            guard
                let method = RelationshipMethod(
                    member.name, labels: parameters.map(\.label), isCollection: isCollection, selector: member.selector)
            else { return }  // The accessor file has a compile error for it.
            let isKnown = subjects.contains { subject in
                properties(named: method.relationship, of: subject).contains { $0.isToMany }
                    || properties(named: method.relationship.capitalizedFirst, of: subject).contains { $0.isToMany }
            }
            if isKnown { return }
            report(
                severity, member.file, member.line,
                "@NSManaged \(owner).\(member.name): entity \(entities) has no to-many relationship '\(method.relationship)'; its first use "
                    + "would end the process")
        }
    }

    /// `primitiveTitle` is the primitive value of `title`, or of `Title`.
    private func primitiveNames(_ name: String) -> [String] {
        guard name.hasPrefix("primitive") else { return [] }
        let rest = String(name.dropFirst("primitive".count))
        return [rest, rest.prefix(1).lowercased() + rest.dropFirst()]
    }

    // MARK: What models say

    /// Entities that have the class or a subclass, by inheritance in the sources or in the model.
    private func subjects(ofClass name: String) -> [Subject] {
        let direct = subjects.filter { inherits($0.entity.className, from: name) }
        return subjects.filter { subject in
            direct.contains { $0.entity.name == subject.entity.name && $0.compilation.name == subject.compilation.name }
                || ancestry(of: subject).contains { inherits($0.className, from: name) }
        }
    }

    private func inherits(_ className: String, from name: String) -> Bool {
        var current = className
        for _ in 0..<100 {
            if current == name { return true }
            guard let next = declaration(named: current)?.inherits.first else { return false }
            current = next.split(separator: ".").last.map(String.init) ?? next
        }
        return false
    }

    private func ancestry(of subject: Subject) -> [Entity] {
        let entities = subject.compilation.compiled.current.entities
        var chain = [subject.entity]
        while let parent = chain[chain.count - 1].superentity, let entity = entities.first(where: { $0.name == parent }) {
            chain.append(entity)
        }
        return chain
    }

    private func properties(named name: String, of subject: Subject) -> [PropertyFit.Property] {
        ancestry(of: subject).flatMap { entity in
            entity.attributes.filter { $0.name == name }.map { PropertyFit.Property.attribute($0) }
                + entity.relationships.filter { $0.name == name }.map { .relationship($0) }
                + entity.fetchedProperties.filter { $0.name == name }.map { .fetched($0) }
        }
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
