// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Prints the schema of a container's environment.
package struct ExportSchema: AdminOperation {
    package static let name = "schema.export"

    package var container: String
    package var environment: CloudEnvironment

    package init(container: String, environment: CloudEnvironment) {
        self.container = container
        self.environment = environment
    }

    package init(_ object: FlatObject) throws(WireError) {
        container = try object.text("container")
        environment = try object.choice("environment")
    }

    package var object: FlatObject { ["container": .text(container), "environment": .text(environment.rawValue)] }
    package var subject: String { "\(container) \(environment.rawValue)" }

    package func perform(in context: AdminContext) async throws -> SchemaText {
        try await context.checkContainer(container)
        return SchemaText(try await context.service.schema(of: container).export(environment).text)
    }
}

/// A schema in the schema language.
package struct SchemaText: FlatMessage {
    package var text: String

    package init(_ text: String) { self.text = text }
    package init(_ object: FlatObject) throws(WireError) { text = try object.text("text") }
    package var object: FlatObject { ["text": .text(text)] }

    /// - Throws: `WireError` with `.badRequest`, and line and column.
    func parsed() throws(WireError) -> ContainerSchema {
        do {
            return try ContainerSchema(text: text)
        } catch {
            throw WireError(.badRequest, "Line \(error.line), column \(error.column): \(error.what)")
        }
    }
}

/// The changes that an import would make in development.
package struct ValidateSchema: AdminOperation {
    package static let name = "schema.validate"

    package var container: String
    package var schema: SchemaText

    package init(container: String, schema: SchemaText) {
        self.container = container
        self.schema = schema
    }

    package init(_ object: FlatObject) throws(WireError) {
        container = try object.text("container")
        schema = try SchemaText(object)
    }

    package var object: FlatObject { ["container": .text(container), "text": .text(schema.text)] }
    package var subject: String { container }

    package func perform(in context: AdminContext) async throws -> SchemaChanges {
        try AdminContext.checkIdentifier(ofContainer: container)
        let (service, schema) = (context.service.schema(of: container), try schema.parsed())
        return SchemaChanges(try await service.validate(schema), removals: try await service.removals(by: schema), isMade: false)
    }
}

/// Replaces the schema of development. Without the confirmation, an import that deletes values changes nothing.
package struct ImportSchema: AdminOperation {
    package static let name = "schema.import"

    package var container: String
    package var schema: SchemaText
    /// Whether the operator confirmed that records and values are deleted.
    package var deletesValues: Bool

    package init(container: String, schema: SchemaText, deletesValues: Bool) {
        self.container = container
        self.schema = schema
        self.deletesValues = deletesValues
    }

    package init(_ object: FlatObject) throws(WireError) {
        container = try object.text("container")
        schema = try SchemaText(object)
        deletesValues = object.flag("deletesValues")
    }

    package var object: FlatObject {
        ["container": .text(container), "text": .text(schema.text), "deletesValues": .flag(deletesValues)]
    }
    package var subject: String { container }

    package func checkKey(of owner: String, in context: AdminContext) async throws {
        try AdminContext.checkIdentifier(ofContainer: container)
        guard deletesValues, try await !context.service.schema(of: container).removals(by: schema.parsed()).isEmpty else { return }
        throw WireError(
            .accessDenied,
            "An operator's key does not delete records and values: import the schema in the console or on the server's machine.")
    }

    package func perform(in context: AdminContext) async throws -> SchemaChanges {
        try AdminContext.checkIdentifier(ofContainer: container)
        let (service, schema) = (context.service.schema(of: container), try schema.parsed())
        let removals = if deletesValues { SchemaRemovals() } else { try await service.removals(by: schema) }
        guard removals.isEmpty else { return SchemaChanges([], removals: removals, isMade: false) }
        return SchemaChanges(try await service.importSchema(schema), isMade: true)
    }
}

/// What development has that production lacks.
package struct CompareSchemas: ContainerOperation {
    package static let name = "schema.diff"

    package var container: String

    package init(container: String) { self.container = container }

    package func perform(in context: AdminContext) async throws -> SchemaChanges {
        try await context.checkContainer(container)
        return SchemaChanges(try await context.service.schema(of: container).differences(), isMade: false)
    }
}

/// Adds to production what development has.
package struct DeploySchema: ContainerOperation {
    package static let name = "schema.deploy"

    package var container: String

    package init(container: String) { self.container = container }

    package func perform(in context: AdminContext) async throws -> SchemaChanges {
        try await context.checkContainer(container)
        return SchemaChanges(try await context.service.schema(of: container).deploy(), isMade: true)
    }
}

/// Changes of a schema as lists show them.
package struct SchemaChanges: FlatMessage {
    package struct Change: Hashable, Sendable {
        /// As ``SchemaChange/line``.
        package var line: String
        package var removesValues: Bool

        package init(_ change: SchemaChange) {
            line = change.line
            removesValues = change.removesValues
        }

        init(_ object: FlatObject) throws(WireError) {
            line = try object.text("line")
            removesValues = object.flag("removesValues")
        }
    }

    package var changes: [Change]
    /// Sentences about records and values that the changes delete.
    package var removals: [String]
    /// Whether the changes were made.
    package var isMade: Bool

    package init(_ changes: [SchemaChange], removals: SchemaRemovals = SchemaRemovals(), isMade: Bool) {
        self.changes = changes.map { Change($0) }
        self.removals = removals.lines
        self.isMade = isMade
    }

    package init(_ object: FlatObject) throws(WireError) {
        changes = []
        for change in object.objects("changes") { changes.append(try Change(change)) }
        removals = object.texts("removals")
        isMade = object.flag("made")
    }

    package var object: FlatObject {
        let rows = changes.map { change -> FlatObject in
            ["line": .text(change.line), "removesValues": .flag(change.removesValues)]
        }
        return ["changes": .objects(rows), "removals": .texts(removals), "made": .flag(isMade)]
    }
}
