// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The directions between targets. The compiler rejects imports that the manifest doesn't declare; these rules keep them
/// undeclared.
enum ImportRules {
    /// Targets that are imported and import alike. Each target of `Sources` is in one group.
    enum Group: String, CaseIterable {
        case foundations, tools, store, decisions, client, server, commands, fakes

        var targets: Set<String> {
            switch self {
            case .foundations:
                [
                    "CLibPQ", "CMalloc", "CRuntimeRecords", "CSQLite", "CZlib", "CloudWire", "ManagedModel", "ModelFile", "PredicateKit",
                    "SystemSupport",
                ]
            case .tools: ["ModelTool", "modelc", "webembed"]
            case .store: ["ObjectGraph", "SQLiteStore"]
            case .decisions: ["MirroringCore"]
            case .client: ["CloudCollaboration", "CloudKit", "CloudMirroring", "CoreData", "TarnMirror"]
            case .server:
                [
                    "CloudConsole", "CloudEngine", "CloudEnginePostgres", "CloudEngineSQLite", "CloudStorageSupport", "CloudIdentity",
                    "CloudServer", "CloudService",
                ]
            case .commands: ["TarnCommands", "tarn"]
            case .fakes:
                ["CloudInProcess", "CloudKitTesting", "SimulationKit", "TestSupport", "ValueSimulation", "simulate", "simulate-values"]
            }
        }

        /// The other groups that its targets may import.
        var imports: Set<Group> {
            switch self {
            case .foundations: []
            case .tools, .store, .decisions, .server: [.foundations]
            case .client: [.foundations, .store, .decisions]
            case .commands: [.foundations, .tools, .store, .decisions, .client, .server]
            case .fakes: [.foundations, .store, .decisions, .client, .server]
            }
        }

        var because: String {
            switch self {
            case .foundations: "everything stands on them"
            case .tools: "they run while other targets are built"
            case .store: "saving never waits for, or knows of, sync"
            case .decisions: "they are values, for devices and for checks of models"
            case .client: "it works against any server: client and server meet in CloudWire and in tests"
            case .server: "it works against any client: client and server meet in CloudWire and in tests"
            case .commands: "no fake ships in them"
            case .fakes: "they are outside of the products"
            }
        }
    }

    /// Directions inside of groups, and modules that only some targets import.
    static let never: [(target: String, imports: [String], because: String)] = [
        ("CloudWire", ["Foundation", "ManagedModel", "PredicateKit", "SystemSupport"], "the wire is the language, not a speaker"),
        ("SystemSupport", ["ManagedModel", "ModelFile", "PredicateKit"], "primitives know no domain"),
        ("ManagedModel", ["ModelFile", "PredicateKit"], "models are values"),
        ("SQLiteStore", ["ObjectGraph"], "the store speaks rows and keys; objects are made above it"),
        ("ObjectGraph", ["ModelTool"], "apps don't link a code generator"),
        ("MirroringCore", ["CloudKit", "SQLiteStore", "ObjectGraph", "CloudMirroring", "Dispatch"], "a seed replays its decisions"),
        ("CloudKit", ["CloudMirroring", "CoreData", "MirroringCore", "ObjectGraph", "SQLiteStore"], "it is used without Core Data"),
        (
            "CloudEngine", ["CloudEngineSQLite", "CloudServer", "CloudService", "CloudConsole", "Dispatch", "Synchronization"],
            "a seed replays its decisions"
        ),
        (
            "CloudService", ["CloudEngineSQLite", "CloudIdentity", "CloudServer", "CloudConsole", "Foundation"],
            "storages and transports plug into the service"
        ),
        ("CloudIdentity", ["CloudEngineSQLite", "CloudServer", "CloudConsole"], "it is one source of identities of the service"),
        ("CloudConsole", ["CloudEngineSQLite", "CloudIdentity", "CloudServer"], "the console is pages over the service"),
        ("CloudEngineSQLite", ["CloudEnginePostgres", "CloudServer", "CloudConsole"], "storage knows no transport"),
        ("CloudEnginePostgres", ["CloudEngineSQLite", "CloudServer", "CloudConsole"], "storage knows no transport"),
        (
            "TarnCommands", ["CloudCollaboration", "CloudMirroring", "CoreData"],
            "of the client, commands have the requests that copy records from and to iCloud"
        ),
        (
            "TarnMirror",
            [
                "CloudCollaboration", "CloudKit", "CloudMirroring", "Crypto", "Logging", "ModelFile", "ObjectGraph", "PredicateKit",
                "SQLiteStore",
            ],
            "on Apple's platforms there are Core Data, Foundation, and the targets of decisions and values"
        ),
        ("CloudStorageSupport", ["CloudEnginePostgres", "CloudEngineSQLite", "CloudServer", "CloudConsole"], "storages share it"),
    ]

    /// Modules from outside of the package that only these targets import: one door per outside thing.
    static let doors: [(module: String, targets: Set<String>)] = [
        ("GRDB", ["SQLiteStore", "CloudEngineSQLite", "StatementPlans"]),
        ("GRDBSQLite", ["SQLiteStore", "CloudEngineSQLite", "StatementPlans"]),
        ("Hummingbird", ["CloudServer", "TarnCommands"]), ("HummingbirdCore", ["CloudServer"]), ("HummingbirdTLS", ["CloudServer"]),
        ("AsyncHTTPClient", ["CloudKit", "TarnCommands"]), ("Mustache", ["CloudConsole"]), ("FoundationXML", ["ModelFile"]),
        ("ArgumentParser", ["TarnCommands", "simulate", "simulate-values"]), ("CLibPQ", ["CloudEnginePostgres"]),
        ("CryptoExtras", ["CloudStorageSupport"]), ("JWTKit", ["CloudIdentity"]),
        ("CloudInProcess", ["CloudKitTesting", "SimulationKit"]),
    ]

    /// Targets that decide on values: time, randomness and identifiers come in, and effects are returned.
    static let pure = ["CloudEngine", "CloudWire", "ManagedModel", "MirroringCore"]

    /// - Returns: The module of an import declaration; nil for another line, and for lines indented as text of a literal is.
    static func module(of line: some StringProtocol) -> String? {
        guard !line.hasPrefix("        ") else { return nil }
        var words = String(line).split(separator: " ").map(String.init)[...]
        while let word = words.first, word.hasPrefix("@") || ["public", "package", "internal", "private", "fileprivate"].contains(word) {
            words.removeFirst()
        }
        guard words.first == "import" else { return nil }
        words.removeFirst()
        if let kind = words.first, ["class", "enum", "func", "let", "protocol", "struct", "typealias", "var"].contains(kind) {
            words.removeFirst()
        }
        return words.first.map { String($0.prefix { $0 != "." }) }
    }

    /// - Returns: A sentence for each import in a target's file that a rule excludes.
    static func problems(of target: String, path: String, text: String) -> [String] {
        let modules = text.split(separator: "\n").compactMap { module(of: $0) }
        return modules.compactMap { module in
            if let own = Group.allCases.first(where: { $0.targets.contains(target) }),
                let imported = Group.allCases.first(where: { $0.targets.contains(module) }), imported != own,
                !own.imports.contains(imported)
            {
                return "\(path) imports \(module): targets of '\(own)' never import those of '\(imported)', since \(own.because)"
            }
            if let rule = never.first(where: { $0.target == target && $0.imports.contains(module) }) {
                return "\(path) imports \(module): \(rule.because)"
            }
            if let door = doors.first(where: { $0.module == module }), !door.targets.contains(target) {
                return "\(path) imports \(module): only \(door.targets.sorted().joined(separator: ", ")) do"
            }
            return nil
        }
    }
}
