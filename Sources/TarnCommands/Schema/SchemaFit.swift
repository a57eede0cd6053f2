// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import ManagedModel
import MirroringCore

/// Whether a server's schema has what devices with a model save, and the model has what the schema's records hold.
struct SchemaFit {
    enum Kind: String {
        /// The schema lacks a type, a field or an index.
        case addition
        /// The model cannot be mirrored, or a field has another type.
        case conflict
        /// The model has no property for a field, and does not say that it is retired.
        case unknown
        /// The model says so.
        case retired
        /// A later version of the model has it.
        case later

        var mark: String {
            switch self {
            case .addition: "+"
            case .conflict, .unknown: "!"
            case .retired, .later: " "
            }
        }
    }

    struct Finding {
        let kind: Kind
        /// `field CD_Post.CD_title`
        let subject: String
        /// The finding, and the next step.
        let message: String
    }

    /// The schema that a model is compared with.
    enum Place {
        case production, development
        case file(String)

        var name: String {
            switch self {
            case .production: "production"
            case .development: "development"
            case .file(let path): path
            }
        }

        fileprivate var nextStep: String {
            switch self {
            case .production: "add it to development and run 'tarn schema deploy' before devices save it"
            case .development: "the first save creates it, or initializeCloudKitSchema()"
            case .file: "add it"
            }
        }
    }

    private(set) var findings: [Finding] = []
    private let place: Place

    /// - Parameters:
    ///   - isPublic: Whether the model is mirrored into the public database, which is read by queries.
    ///   - isEarlier: Whether a later version of the model is in use: types and fields without a property are its own.
    /// - Throws: `SchemaFault` if the schema that the model needs is invalid.
    init(
        _ model: ResolvedModel, configuration: String?, isPublic: Bool, isEarlier: Bool, schema: ContainerSchema, at place: Place
    ) throws {
        self.place = place
        let extensions: ModelExtensions = [.orderedRelationships, .uniquenessConstraints, .requiredValues, .denyDeleteRule]
        for violation in CloudModelRules.violations(of: model, configuration: configuration, isPublic: isPublic, allowing: extensions) {
            let subject = violation.property.map { "property \(violation.entity).\($0)" } ?? "entity \(violation.entity)"
            findings.append(Finding(kind: .conflict, subject: subject, message: "\(violation.what)"))
        }
        if !findings.isEmpty { return }
        let mapping = RecordMapping(model: model, configuration: configuration, allowing: extensions)
        let needed = try ContainerSchema(text: CloudSchema(mapping).text(isPublic: isPublic))
        let retired = Self.retiredNames(mapping)
        for change in schema.changes(to: needed) {
            if let finding = finding(change, retired, isPublic: isPublic, isEarlier: isEarlier) { findings.append(finding) }
        }
    }

    /// The exit code: 0 if the schema fits, 1 if it lacks something, 2 if records of other versions do not fit the model.
    var status: Int32 {
        if findings.contains(where: { $0.kind == .conflict || $0.kind == .unknown }) { return 2 }
        return findings.contains { $0.kind == .addition } ? 1 : 0
    }

    var summary: String {
        switch status {
        case 0: "The model fits \(place.name)."
        case 1: "\(place.name) lacks what the model saves; additions are compatible with devices of earlier versions."
        default: "The model does not fit \(place.name): devices with it and devices with other versions would not share these values."
        }
    }

    private func finding(_ change: SchemaChange, _ retired: [String: Set<String>], isPublic: Bool, isEarlier: Bool) -> Finding? {
        let lacks = "is not in \(place.name): \(place.nextStep)"
        switch change {
        case .addedType(let type): return Finding(kind: .addition, subject: "type \(type)", message: lacks)
        case .addedField(let type, let field, _): return Finding(kind: .addition, subject: "field \(type).\(field)", message: lacks)
        case .addedIndexes(let type, let field, let indexes):
            // Mirroring queries system fields alone.
            guard isPublic, field.hasPrefix("___") else { return nil }
            return Finding(kind: .addition, subject: "index \(type).\(field) \(Self.text(indexes))", message: lacks)
        case .changedField(let type, let field, let from, let to):
            return Finding(
                kind: .conflict, subject: "field \(type).\(field)",
                message: "is \(Self.text(from)) in \(place.name), and the model saves \(Self.text(to)). A field keeps its type: give the "
                    + "attribute another name, keep the earlier one, and translate with syncLens")
        case .removedType(let type):
            guard type.hasPrefix(MirrorNames.recordType(forRoot: "")) else { return nil }
            return isEarlier
                ? Finding(kind: .later, subject: "type \(type)", message: "belongs to a later version")
                : Finding(
                    kind: .unknown, subject: "type \(type)",
                    message:
                        "has no entity in the model: its objects would disappear from devices. Give a renamed entity its first name as "
                        + "renaming identifier, or keep the entity")
        case .removedField(let type, let field, _):
            guard let name = MirrorNames.property(ofField: field), retired[type] != nil else { return nil }
            let subject = "field \(type).\(field)"
            if retired[type]?.contains(name) == true {
                return Finding(kind: .retired, subject: subject, message: "is retired: earlier versions still use it")
            }
            return isEarlier
                ? Finding(kind: .later, subject: subject, message: "belongs to a later version")
                : Finding(
                    kind: .unknown, subject: subject,
                    message:
                        "has no property in the model. Give a renamed property its first name as renaming identifier; list a removed one "
                        + "in syncRetired of its entity")
        case .addedRole, .removedRole, .removedIndexes, .changedGrants: return nil
        }
    }

    /// Names of retired properties, by record type.
    private static func retiredNames(_ mapping: RecordMapping) -> [String: Set<String>] {
        Dictionary(
            mapping.entities.values.map { ($0.recordType, mapping.model.retiredNames(ofHierarchy: $0.entity.root)) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func text(_ field: FieldSchema) -> String { field.isEncrypted ? "encrypted \(field.type)" : field.type }

    private static func text(_ indexes: FieldIndexes) -> String {
        [(FieldIndexes.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE")]
            .filter { indexes.contains($0.0) }.map(\.1).joined(separator: " ")
    }
}
