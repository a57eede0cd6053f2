// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
package import ManagedModel

/// The model of a store, derived from the store itself.
///
/// Deriving it changes nothing in the store's folder, and works while an app has the store open.
///
///     let derived = try DerivedModel(ofStoreAt: url)
///     for entity in derived.model.entities { print(entity.name, entity.attributes.map(\.name)) }
package struct DerivedModel: Sendable {
    package enum Origin: String, Sendable, Codable {
        /// The store's own record of its model: exact.
        case recorded
        /// The model that Apple's framework stored: exact except for the omissions of ``ArchivedModel``.
        case archived
        /// Tables, columns and values: names in lower case, relationships guessed.
        case tables
    }

    package let model: Model
    package let origin: Origin
    /// One sentence for each part that could not be derived.
    package let notes: [String]

    /// - Throws: ``StoreError``: `.notFound`, `.notPermitted`, or `.corrupt` for a file that isn't a store, is too damaged
    ///   to read, or needs more steps to read than its size allows.
    package init(ofStoreAt url: URL) throws(StoreError) {
        self = try StoreFile(url).read { try DerivedModel($0, ExternalFolder(of: url)) }
    }

    init(_ connection: Connection, _ external: ExternalFolder) throws {
        let outline = try StoreOutline(connection)
        let existing = try StoreLayoutBuilder.Existing(connection, outline.metadata)
        if let model = try? SourceModel.recorded(in: connection, existing.columns), model.isUsable {
            self.init(model: model, origin: .recorded, notes: [])
            return
        }
        if let model = outline.recorded?.model(), model.isUsable {
            self.init(
                model: model, origin: .recorded, notes: ["the store's record says nothing about values that are required, and defaults"])
            return
        }
        let store = try ForeignStore(connection, outline.metadata, existing.numbers)
        func misfit(_ model: Model) -> StoreError? {
            do throws(StoreError) {
                let resolved: ResolvedModel
                do throws(ModelError) { resolved = try ResolvedModel(model) } catch {
                    return StoreError(.incompatibleModel, "the model is not sound", detail: error.description)
                }
                var builder = try StoreLayoutBuilder(resolved, configuration: nil, existing: existing)
                try store.check(against: try builder.build(), existing.columns)
                return nil
            } catch { return error }
        }
        var notes: [String] = []
        if outline.tables["Z_MODELCACHE"] != nil,
            let content = try? connection.first("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1", [], { $0.blob(0) })
        {
            if var model = ArchivedModel.model(in: content), model.isUsable {
                try model.markExternalValues(connection, existing, external)
                guard let misfit = misfit(model) else {
                    self.init(model: model, origin: .archived, notes: [])
                    return
                }
                notes.append("the model in the store is not used, since the tables differ: \(misfit.summary) (\(misfit.detail))")
            } else {
                notes.append("the model in the store cannot be read")
            }
        }
        var (model, guesses) = try TableModel.derived(connection, outline)
        guard !model.entities.isEmpty else { throw StoreError(.corrupt, "the store has no entity with a table") }
        try model.markExternalValues(connection, existing, external)
        notes += guesses
        if let misfit = misfit(model) {
            notes.append("a store like this does not open with the model: \(misfit.summary) (\(misfit.detail))")
        }
        self.init(model: model, origin: .tables, notes: notes)
    }

    private init(model: Model, origin: Origin, notes: [String]) {
        (self.model, self.origin, self.notes) = (model, origin, notes)
    }
}

extension Model {
    /// Whether names are valid, also as file names, and sizes plausible: a file's contents are untrusted.
    fileprivate var isUsable: Bool {
        let byName = Dictionary(keepingFirst: entities.map { ($0.name, $0) })
        let parents = Dictionary(
            keepingFirst: entities.compactMap { entity in entity.superentity.flatMap { byName[$0] }.map { (entity.name, $0) } })
        func depth(_ entity: Entity) -> Int {
            var (current, depth) = (entity, 0)
            while depth <= StoreOutline.depthMax, let parent = parents[current.name] { (current, depth) = (parent, depth + 1) }
            return depth
        }
        return entities.count <= StoreOutline.entitiesMax
            && entities.allSatisfy { TableModel.isName($0.name) && depth($0) < StoreOutline.depthMax }
            && (try? ResolvedModel(self)) != nil
    }

    /// Detects attributes with external storage by their values, the only evidence in Apple's stores.
    fileprivate mutating func markExternalValues(
        _ connection: Connection, _ existing: StoreLayoutBuilder.Existing, _ external: ExternalFolder
    ) throws {
        guard let resolved = try? ResolvedModel(self) else { return }
        var builder = try StoreLayoutBuilder(resolved, configuration: nil, existing: existing)
        guard let layout = try? builder.build() else { return }
        let hasFolder = StoreFile.exists(external.url.path)
        for index in entities.indices {
            guard let resolved = resolved.entity(named: entities[index].name), let placed = layout.entities[resolved.index] else {
                continue
            }
            for place in entities[index].attributes.indices {
                guard case .slot(let slot)? = resolved.location(of: entities[index].attributes[place].name),
                    case .attribute(let column, .blob) = placed.slots[slot],
                    existing.columns[placed.table.uppercased()]?.contains(column.uppercased()) == true
                else { continue }
                entities[index].attributes[place].allowsExternalBinaryDataStorage = try Self.areTagged(
                    identifier(column), identifier(placed.table), hasFolder, connection)
            }
        }
    }

    /// Whether every value of a column has a tag, and one of them names a file or the store has a folder for files: a
    /// value that happens to begin with a tag's byte would lose it.
    private static func areTagged(_ column: String, _ table: String, _ hasFolder: Bool, _ connection: Connection) throws -> Bool {
        let (all, inline, files) =
            try connection.first(
                """
                SELECT COUNT(*), TOTAL(substr(v, 1, 1) = x'01'), TOTAL(length(v) = \(ExternalValue.referenceSize) \
                AND substr(v, 1, 1) = x'02' AND substr(v, -1) = x'00') FROM (SELECT \(column) v FROM \(table) WHERE \(column) IS NOT NULL)
                """
            ) { ($0.int(0), $0.int(1), $0.int(2)) } ?? (0, 0, 0)
        return all > 0 && inline + files == all && (files > 0 || hasFolder)
    }
}

extension RecordedModel {
    /// The recorded part of the model: names, and storage of properties.
    func model() -> Model {
        Model(
            entities: entities.sorted { $0.key < $1.key }.map { name, recorded in
                var entity = Entity(name: name, superentity: recorded.superentity)
                for (property, record) in recorded.properties.sorted(by: { $0.key < $1.key }) {
                    if record.kind == .attribute {
                        if let attribute = record.storage?.attribute(named: property) { entity.attributes.append(attribute) }
                        continue
                    }
                    guard let destination = record.destination else { continue }
                    let inverse = record.inverse.flatMap { entities[destination]?.properties[$0] }
                    // A to-one inverse has the position in its row.
                    let isOrdered =
                        record.kind != .toOne && (record.orderColumn ?? (inverse?.kind == .toOne ? inverse?.orderColumn : nil)) != nil
                    entity.relationships.append(
                        Relationship(
                            name: property, destination: destination, inverse: record.inverse, isToMany: record.kind != .toOne,
                            isOrdered: isOrdered))
                }
                return entity
            })
    }
}

extension StorageKind {
    /// The attribute of the widest range for this storage.
    fileprivate func attribute(named name: String) -> Attribute? {
        let type: AttributeType
        switch self {
        case .integer: type = .integer64
        case .key: return nil
        case .float: type = .double
        case .decimal: type = .decimal
        case .timestamp: type = .date
        case .text: type = .string
        case .uri: type = .uri
        case .uuid: type = .uuid
        case .blob, .external: type = .binaryData
        }
        var attribute = Attribute(name: name, type: type)
        attribute.allowsExternalBinaryDataStorage = self == .external
        return attribute
    }
}
