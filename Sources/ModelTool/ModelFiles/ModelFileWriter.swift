// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
package import ModelFile

/// Writes the `contents` of a model version as Xcode's model editor does.
///
/// Reading the text gives the model that was written. Unchanged elements keep their source and order; entities and properties without a file are sorted by name.
///
/// Source: `xcdatamodel-format` (observed over public model files).
package struct ModelFileWriter {
    let document: ModelDocument
    var model: Model { document.model }

    package init(_ document: ModelDocument) { self.document = document }

    /// - Throws: ``ModelError`` naming everything that a model file cannot hold, such as a default value of an app's own
    ///   type.
    package func text() throws(ModelError) -> String {
        let problems = unwritable()
        guard problems.isEmpty else { throw ModelError(problems: problems) }
        let declaration = #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#
        return ([declaration] + root().lines()).joined(separator: "\n")
    }

    // MARK: Model level

    func root() -> WrittenElement {
        let form = document.sourceForm(of: "the model")
        var attributes: [String: String] = [:]
        if form == nil {
            // Attributes that a recent Xcode writes. They have no effect here.
            attributes = [
                "type": "com.apple.IDECoreDataModeler.DataModel", "documentVersion": "1.0", "lastSavedToolsVersion": "22522",
                "systemVersion": "23B92", "minimumToolsVersion": "Automatic", "sourceLanguage": "Swift",
            ]
        }
        attributes["userDefinedModelVersionIdentifier"] = model.versionIdentifiers.first
        let isDefaultInCloud = model.cloudConfigurations.contains(Model.defaultConfiguration)
        let hasDefault = document.sourceForm(of: "configuration '\(Model.defaultConfiguration)'") != nil
        if saysCloudAsBefore {
            attributes["usedWithCloudKit"] = form?.spellings["usedWithCloudKit"]
        } else if isDefaultInCloud, !hasDefault || form?.spellings["usedWithCloudKit"] != nil {
            attributes["usedWithCloudKit"] = "YES"
        }
        var children = model.entities.sorted { $0.name < $1.name }.map { element(for: $0) }
        children += model.fetchTemplates.map { element(for: $0, document.sourceForm(of: "fetch request '\($0.name)'")) }
        children += configurations(hasDefault: hasDefault, isDefaultInCloud: isDefaultInCloud)
        children += model.composites.map { element(for: $0) }
        // A diagram that lost all of its entities is left out; one that was empty stays.
        for carried in form?.children ?? [] {
            let element = carried.name == "elements" ? diagram(carried) : WrittenElement(carried)
            if carried.name != "elements" || !element.children.isEmpty || carried.children.isEmpty { children.append(element) }
        }
        return WrittenElement("model", merged(attributes, form, by: .model), children: arranged(children, like: form))
    }

    /// Whether the file says of the default configuration that it is synced, in either of the two places there are.
    private func cloudFlag(of subject: String) -> Bool {
        document.sourceForm(of: subject)?.spellings["usedWithCloudKit"].flatMap(ElementReader.flag(from:)) ?? false
    }

    private var saysCloudAsBefore: Bool {
        let before = cloudFlag(of: "the model") || cloudFlag(of: "configuration '\(Model.defaultConfiguration)'")
        return document.sourceForm(of: "the model") != nil && before == model.cloudConfigurations.contains(Model.defaultConfiguration)
    }

    /// Positions in the editor, of entities that are still there.
    private func diagram(_ elements: SourceElement) -> WrittenElement {
        let names = Set(model.entities.map(\.name) + model.composites.map(\.name))
        var written = WrittenElement(elements)
        written.children.removeAll { element in
            guard let name = element.attributes.first(where: { $0.name == "name" })?.value else { return false }
            return !names.contains(name)
        }
        return written
    }

    private func configurations(hasDefault: Bool, isDefaultInCloud: Bool) -> [WrittenElement] {
        var names = model.configurations.keys.sorted()
        if hasDefault { names.append(Model.defaultConfiguration) }
        return names.sorted().map { name in
            let form = document.sourceForm(of: "configuration '\(name)'")
            let isDefault = name == Model.defaultConfiguration
            let isInCloud =
                isDefault && saysCloudAsBefore ? cloudFlag(of: "configuration '\(name)'") : model.cloudConfigurations.contains(name)
            if let same = unchanged(
                form, [name: model.configurations[name] ?? []],
                { reader, element in
                    var read = Model()
                    reader.configuration(element, into: &read)
                    return read.cloudConfigurations.contains(name) == isInCloud ? [name: read.configurations[name] ?? []] : [:]
                })
            {
                return same
            }
            let members = (model.configurations[name] ?? []).map { WrittenElement("memberEntity", [("name", $0)]) }
            let attributes = merged(
                ["name": name, "usedWithCloudKit": isInCloud ? "YES" : nil].compactMapValues { $0 }, form, by: .configuration)
            return WrittenElement("configuration", attributes, children: members + others(form))
        }
    }

    private func element(for composite: Composite) -> WrittenElement {
        let form = document.sourceForm(of: composite.name, in: .composites)
        if let same = unchanged(form, composite, { $0.composite($1) }) { return same }
        let attributes = composite.attributes.map { attribute in
            element(for: attribute, document.sourceForm(of: "\(composite.name).\(attribute.name)", in: .composites))
        }
        return WrittenElement(
            "composite", merged(["name": composite.name], form, by: .composite), children: arranged(attributes + others(form), like: form))
    }

    func element(for template: FetchTemplate, _ form: ModelDocument.SourceForm?) -> WrittenElement {
        if let same = unchanged(form, template, { $0.template($1, as: "") }) { return same }
        var attributes = ["name": template.name, "entity": template.entity]
        attributes["predicateString"] = template.predicateFormat
        if template.fetchLimit != 0 { attributes["fetchLimit"] = "\(template.fetchLimit)" }
        if template.fetchBatchSize != 0 { attributes["fetchBatchSize"] = "\(template.fetchBatchSize)" }
        if template.resultType != 0 { attributes["resultType"] = "\(template.resultType)" }
        let flags = [
            ("includeSubentities", template.includesSubentities, true), ("includePropertyValues", template.includesPropertyValues, true),
            ("includesPendingChanges", template.includesPendingChanges, true),
            ("returnObjectsAsFaults", template.returnsObjectsAsFaults, true),
            ("returnDistinctResults", template.returnsDistinctResults, false),
        ]
        // Without any flag a reader uses the defaults of a new request; with one, each missing flag means NO.
        let hadFlags = flags.contains { form?.spellings[$0.0] != nil }
        if hadFlags || flags.contains(where: { $0.1 != $0.2 }) {
            for (name, value, _) in flags where value { attributes[name] = "YES" }
            if !flags.contains(where: \.1) { attributes["includeSubentities"] = "NO" }
        }
        return WrittenElement("fetchRequest", merged(attributes, form, by: .fetchRequest), children: others(form))
    }

    // MARK: Parts of elements

    func others(_ form: ModelDocument.SourceForm?) -> [WrittenElement] { (form?.children ?? []).map { WrittenElement($0) } }

    func userInfo(_ userInfo: [String: String], _ form: ModelDocument.SourceForm?) -> [WrittenElement] {
        if let source = form?.source {
            var reader = ElementReader(source, subject: "", namespace: .entities)
            if reader.userInfo() == userInfo { return reader.children("userInfo").map { WrittenElement($0) } }
        }
        guard !userInfo.isEmpty else { return [] }
        let entries = userInfo.sorted { $0.key < $1.key }.map { WrittenElement("entry", [("key", $0.key), ("value", $0.value)]) }
        return [WrittenElement("userInfo", children: entries)]
    }

    /// The model's attributes of an element in the file's spelling where it says the same, with those the model does not
    /// hold.
    func merged(_ attributes: [String: String], _ form: ModelDocument.SourceForm?, by order: AttributeOrder) -> [(
        name: String, value: String
    )] {
        guard let form else { return order.sorted(attributes) }
        var result = attributes
        for (name, spelling) in form.spellings {
            if let value = attributes[name] {
                if Self.isSame(spelling, value, name) { result[name] = spelling }
            } else if form.carried[name] != nil || spelling.isEmpty && Self.mayBeEmpty.contains(name) || Self.isNo(spelling, name) {
                result[name] = spelling
            }
        }
        return order.sorted(result)
    }

    private static func isSame(_ spelling: String, _ value: String, _ name: String) -> Bool {
        if spelling == value { return true }
        if name == "customClassName" { return ModelReader.valueClass(spelling) == value }
        guard flagNames.contains(name) || name.hasSuffix("ValueString") || name.hasSuffix("TimeInterval") else { return false }
        if value == "YES" || value == "NO" { return ElementReader.flag(from: spelling) == (value == "YES") }
        guard let number = Double(value), Double(spelling) == number else { return false }
        return DefaultValue.parse(spelling, as: .decimal) == DefaultValue.parse(value, as: .decimal)
    }

    /// Whether a spelling is an explicit NO of a flag.
    private static func isNo(_ spelling: String, _ name: String) -> Bool {
        flagNames.contains(name) && ["no", "false"].contains(spelling.lowercased())
    }

    /// Names that say as much when they are empty as when they are absent.
    private static let mayBeEmpty: Set = [
        "elementID", "versionHashModifier", "valueTransformerName", "customClassName", "regularExpressionString", "representedClassName",
    ]

    private static let flagNames: Set = [
        "optional", "transient", "toMany", "ordered", "isAbstract", "derived", "usesScalarValueType", "allowsExternalBinaryDataStorage",
        "allowsCloudEncryption", "preserveAfterDeletion", "spotlightIndexingEnabled", "usedWithCloudKit", "indexed",
    ]
}
