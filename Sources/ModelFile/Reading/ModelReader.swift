// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Turns the elements of one model version into a ``Model``.
///
/// Nothing is dropped silently: unknown and unsupported parts become warnings.
package struct ModelReader {
    let file: String
    /// The module that a class name with a leading dot belongs to.
    let module: String?
    private(set) var diagnostics: [Diagnostic] = []
    /// Entity, `Entity.property` and other subjects to the line that declares them, the last one when there are several.
    private(set) var lines: [String: Int] = [:]
    /// The parts of the file that the model does not hold, by subject.
    private(set) var sourceForms: [String: ModelDocument.SourceForm] = [:]

    package init(file: String, module: String?) {
        self.file = file
        self.module = module
    }

    mutating func model(from root: SourceElement) -> Model {
        var reader = open(root, as: "the model")
        guard root.name == "model" else {
            reader.error("is not a Core Data model: its root element is '\(root.name)'")
            close(reader, reportingUnknown: false)
            return Model()
        }
        reader.ignore(
            "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
            "sourceLanguage",
            "usedWithSwiftData", "macOSVersion", "iOSVersion", "tvOSVersion", "watchOSVersion", "name")
        reader.ignoreChildren("elements")

        var model = Model()
        if let identifier = reader.text("userDefinedModelVersionIdentifier") { model.versionIdentifiers = [identifier] }
        if reader.flag("usedWithCloudKit") { model.cloudConfigurations.append(Model.defaultConfiguration) }
        for element in reader.children("entity") { model.entities.append(entity(element)) }
        for element in reader.children("fetchRequest") { model.fetchTemplates.append(template(element)) }
        for element in reader.children("configuration") { configuration(element, into: &model) }
        for element in reader.children("composite") { model.composites.append(composite(element)) }
        close(reader)
        return model
    }

    // MARK: Elements

    mutating func open(
        _ element: SourceElement, as subject: String, in namespace: ModelDocument.Namespace = .entities
    ) -> ElementReader {
        lines[subject] = element.line
        return ElementReader(element, subject: subject, namespace: namespace)
    }

    mutating func close(_ reader: ElementReader, reportingUnknown: Bool = true) {
        sourceForms[reader.namespace.key(reader.subject)] = reader.sourceForm
        let warnings = reader.warnings + (reportingUnknown ? reader.unknown : [])
        for what in reader.errors { report(.error, reader, "\(reader.subject) \(what)") }
        for what in warnings { report(.warning, reader, "\(reader.subject) \(what)") }
        for what in reader.unsupported { report(.warning, reader, "not supported yet: \(reader.subject) \(what)") }
    }

    private mutating func report(_ severity: Diagnostic.Severity, _ reader: ElementReader, _ message: String) {
        diagnostics.append(Diagnostic(severity, file: file, line: reader.element.line, message))
    }

    // MARK: Model level

    package mutating func configuration(_ element: SourceElement, into model: inout Model) {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: "configuration '\(name)'")
        reader.ignore("name")
        let isInCloud = reader.flag("usedWithCloudKit")
        let members = reader.children("memberEntity").compactMap { $0.attributes["name"] }
        if isInCloud, !model.cloudConfigurations.contains(name) { model.cloudConfigurations.append(name) }
        if name.isEmpty {
            reader.error("has no name")
        } else if name == Model.defaultConfiguration {
            if !members.isEmpty, Set(members) != Set(model.entities.map(\.name)) {
                reader.warning("has all entities and ignores its list")
            }
        } else if model.configurations.updateValue(members, forKey: name) != nil {
            reader.error("is declared twice")
        }
        close(reader)
    }

    package mutating func composite(_ element: SourceElement) -> Composite {
        let name = element.attributes["name"] ?? ""
        var reader = open(element, as: name.isEmpty ? "a composite" : name, in: .composites)
        reader.ignore("name", "versionHashModifier", "elementID")
        if name.isEmpty { reader.error("has no name") }
        let attributes = reader.children("attribute").map { attribute($0, of: name, in: .composites).attribute }
        close(reader)
        return Composite(name: name, attributes: attributes)
    }

    private mutating func template(_ element: SourceElement) -> FetchTemplate {
        template(element, as: "fetch request '\(element.attributes["name"] ?? "")'")
    }

    package mutating func template(
        _ element: SourceElement, as subject: String, in namespace: ModelDocument.Namespace = .entities
    ) -> FetchTemplate {
        var reader = open(element, as: subject, in: namespace)
        var template = FetchTemplate(
            name: reader.text("name") ?? "", entity: reader.text("entity") ?? "",
            predicateFormat: reader.name("predicateString"), fetchLimit: reader.count("fetchLimit") ?? 0)
        template.fetchBatchSize = reader.count("fetchBatchSize") ?? 0
        template.resultType = reader.count("resultType") ?? 0
        if template.resultType > 2 { reader.error("has an unknown result type \(template.resultType)") }
        if template.name.isEmpty { reader.error("has no name") }

        // The editor writes those flags that are YES. When it wrote none, the request is as a new one.
        let flags = [
            "includeSubentities", "includePropertyValues", "includesPendingChanges", "returnObjectsAsFaults",
            "returnDistinctResults",
        ]
        let values = flags.map { reader.flag($0) }
        if flags.contains(where: { element.attributes[$0] != nil }) {
            template.includesSubentities = values[0]
            template.includesPropertyValues = values[1]
            template.includesPendingChanges = values[2]
            template.returnsObjectsAsFaults = values[3]
            template.returnsDistinctResults = values[4]
        }
        close(reader)
        return template
    }
}
