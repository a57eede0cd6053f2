// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PackageDescription

let package = Package(
    name: "tarn",
    products: [
        .library(name: "CoreData", targets: ["CoreData"]),
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "CloudKitTesting", targets: ["CloudKitTesting"]),
        .library(name: "CloudCollaboration", targets: ["CloudCollaboration"]),
        .library(name: "TarnMirror", targets: ["TarnMirror"]),
        .plugin(name: "ModelCompilerPlugin", targets: ["ModelCompilerPlugin"]),
        .executable(name: "tarn", targets: ["tarn"]),
        .executable(name: "posts", targets: ["posts"]),
    ],
    dependencies: [
        // SQLite connections, pools and statements for device stores and the server's database.
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // The HTTP server of `tarn serve` and of the sample app's page.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        // The HTTP client under `import CloudKit`: kept-alive connections and streamed bodies.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // Sockets: byte buffers of the HTTP client and the relay with which the sample goes offline.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        // Certificates of a server that speaks TLS itself, and authorities that a client trusts; the HTTP server brings it anyway.
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        // Command lines with help and validation.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Structured logs; applications choose where they go.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Hashes of tokens and assets, message authentication of change tokens; its extras hash passwords.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        // Templates of the console's pages, which escape what they show.
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        // Signatures of the ID tokens of OpenID providers. It brings swift-certificates into the build.
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        // Start and graceful stop of the server and of the sample's devices.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // MARK: Objects and their store
        // What the C library says and takes of its heap, which Swift's module of it leaves out.
        .systemLibrary(name: "CMalloc"),
        // Settings of SQLite for the whole process, which Swift cannot call.
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        // The system's zlib, which the HTTP client links already: compressed responses, and models in stores of Apple's.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        // Primitives that many targets need: fingerprints, hexadecimal digits, UUID text, backoff, durable files, file locks.
        .target(name: "SystemSupport"),
        .target(name: "CRuntimeRecords"),
        .target(name: "ManagedModel"),
        .target(name: "PredicateKit"),
        .target(
            name: "SQLiteStore",
            dependencies: [
                "CZlib", "ManagedModel", "PredicateKit", "SystemSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .target(name: "ObjectGraph", dependencies: ["CRuntimeRecords", "ManagedModel", "ModelFile", "PredicateKit", "SQLiteStore"]),

        // MARK: Models to Swift
        // Reads and checks model files; apps link it, since they may read models at run time.
        .target(name: "ModelFile", dependencies: ["ManagedModel", "PredicateKit"]),
        // Writes model files and classes, gives bodies to hand-written @NSManaged members, checks classes, ports sources.
        .target(name: "ModelTool", dependencies: ["ManagedModel", "ModelFile", "SystemSupport"]),
        .executableTarget(name: "modelc", dependencies: ["ModelTool"]),
        .plugin(name: "ModelCompilerPlugin", capability: .buildTool(), dependencies: ["modelc"]),

        // MARK: The language both sides share
        .target(name: "CloudWire"),

        // MARK: Client side of the cloud
        .target(
            name: "CloudKit",
            dependencies: [
                "CloudWire", "PredicateKit", "SystemSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(name: "MirroringCore", dependencies: ["CloudWire", "ManagedModel", "SystemSupport"]),
        .target(
            name: "CloudMirroring",
            dependencies: [
                "CloudKit", "CloudWire", "ManagedModel", "MirroringCore", "ObjectGraph", "PredicateKit", "SQLiteStore", "SystemSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(name: "CoreData", dependencies: ["CloudMirroring", "ObjectGraph", "PredicateKit"]),
        // The mirror for Apple's Core Data: its sources use that framework's public API alone, which CoreData has on Linux.
        .target(name: "TarnMirror", dependencies: ["CloudWire", "CoreData", "ManagedModel", "MirroringCore", "SystemSupport"]),
        // Texts and lists that several devices write, over managed objects.
        .target(name: "CloudCollaboration", dependencies: ["CoreData", "SystemSupport"]),

        // MARK: Server
        // Decides on values: no concurrency, no HTTP, no database.
        .target(name: "CloudEngine", dependencies: ["CloudWire", "SystemSupport"]),
        // Requests, credentials, rate limits, push and the protocols of storages, over the engine.
        .target(name: "CloudService", dependencies: ["CloudEngine", "CloudWire", "SystemSupport"]),
        // What storages share: password hashes, codes of the time, files and objects of assets, fair queues.
        .target(
            name: "CloudStorageSupport",
            dependencies: [
                "CloudEngine", "CloudService", "CloudWire", "SystemSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        .target(
            name: "CloudEngineSQLite",
            dependencies: [
                "CloudEngine", "CloudService", "CloudStorageSupport", "CloudWire", "SystemSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        // Sign-in with an OpenID provider: its documents, and the ID tokens it signs. The caller brings the HTTP client.
        .target(
            name: "CloudIdentity",
            dependencies: ["CloudService", "CloudWire", "SystemSupport", .product(name: "JWTKit", package: "jwt-kit")]),
        .target(
            name: "CloudServer",
            dependencies: [
                "CZlib", "CloudEngine", "CloudService", "CloudWire", "SystemSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),

        .target(
            name: "CloudConsole",
            dependencies: [
                "CloudEngine", "CloudService", "CloudWire", "SystemSupport", .product(name: "Mustache", package: "swift-mustache"),
            ],
            exclude: ["Web"],
            plugins: ["WebFilesPlugin"]),
        // Embeds files in code, so that the server is one executable.
        .executableTarget(name: "webembed"),
        .plugin(name: "WebFilesPlugin", capability: .buildTool(), dependencies: ["webembed"]),

        // MARK: Commands and the sample
        .target(
            name: "TarnCommands",
            dependencies: [
                "CMalloc", "CSQLite", "CloudConsole", "CloudEngine", "CloudEngineSQLite", "CloudIdentity", "CloudKit", "CloudServer",
                "CloudService", "CloudStorageSupport", "CloudWire", "ManagedModel", "MirroringCore", "ModelFile", "ModelTool",
                "SQLiteStore", "SystemSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            exclude: ["Web"],
            plugins: ["WebFilesPlugin"]),
        .executableTarget(name: "tarn", dependencies: ["TarnCommands"]),
        .target(
            name: "PostsApp",
            dependencies: [
                "CloudCollaboration", "CloudKit", "CoreData", "TarnMirror",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Examples/Posts/App",
            exclude: ["Posts.xcdatamodeld"],
            resources: [.copy("Page")],
            plugins: ["ModelCompilerPlugin"]),
        .executableTarget(name: "posts", dependencies: ["PostsApp"], path: "Examples/Posts/Executable"),

        // MARK: Test support
        .target(
            name: "CloudInProcess",
            dependencies: [
                "CloudEngine", "CloudEngineSQLite", "CloudKit", "CloudService", "CloudStorageSupport", "CloudWire", "SystemSupport",
            ]),

        // For the unit tests of apps: accounts, devices, a clock and faults over the engine in process.
        .target(name: "CloudKitTesting", dependencies: ["CloudInProcess", "CloudKit", "CloudWire"]),

        // Devices, users and a server in one thread: network, clocks, disks and randomness follow from a seed.
        .target(
            name: "SimulationKit",
            dependencies: [
                "CFaultyDisk", "CloudEngine", "CloudInProcess", "CloudKit", "CloudMirroring", "CloudWire", "CoreData", "ManagedModel",
                "MirroringCore", "ObjectGraph", "SQLiteStore", "SystemSupport", "TarnMirror",
            ]),
        // The decisions of sync on devices and a server that are values.
        .target(name: "ValueSimulation", dependencies: ["CloudWire", "ManagedModel", "MirroringCore", "SystemSupport"]),
        .executableTarget(
            name: "simulate-values",
            dependencies: ["SystemSupport", "ValueSimulation", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        .executableTarget(
            name: "simulate",
            dependencies: ["SimulationKit", "SystemSupport", .product(name: "ArgumentParser", package: "swift-argument-parser")]),

        // MARK: Tests
        // Uses Apple's public API and nothing else, so that it compiles against Apple's frameworks, too.
        .testTarget(name: "ParityTests", dependencies: ["CoreData"]),
        .testTarget(name: "SystemSupportTests", dependencies: ["SystemSupport"]),
        .testTarget(name: "ManagedModelTests", dependencies: ["ManagedModel"]),
        .testTarget(name: "PredicateKitTests", dependencies: ["PredicateKit"]),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: [
                "ManagedModel", "ModelFile", "PredicateKit", "SQLiteStore", "StatementPlans",
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        // Lists the statements that SQLite runs in a process.
        .target(name: "CStatementLog", path: "Sources/TestSupport/CStatementLog"),
        // Reads the plans of those statements, and finds statements in sources.
        .target(
            name: "StatementPlans", dependencies: ["CStatementLog", .product(name: "GRDBSQLite", package: "GRDB.swift")],
            path: "Tests/StatementPlans", exclude: ["Statements"]),
        // A disk that fails when a test wants it to.
        .target(name: "CFaultyDisk", path: "Sources/TestSupport/CFaultyDisk"),
        // Model files in temporary folders, and a model that several test targets use.
        .target(name: "ModelFolders", dependencies: ["CoreData", "ManagedModel", "ModelFile"], path: "Sources/TestSupport/ModelFolders"),
        // A folder, a clock, numbers from a seed: each for one test.
        .target(name: "TestBasics", path: "Sources/TestSupport/TestBasics"),
        // A store of the kind that a run of the tests chooses.
        .target(
            name: "StorageFixtures", dependencies: ["CloudEngine", "CloudEngineSQLite", "CloudService", "TestBasics"],
            path: "Sources/TestSupport/StorageFixtures"),
        // The engine on a store of its own.
        .target(
            name: "EngineFixtures", dependencies: ["CloudEngine", "CloudService", "CloudWire", "StorageFixtures", "TestBasics"],
            path: "Sources/TestSupport/EngineFixtures"),
        // The service with users and browsers, without sockets.
        .target(
            name: "ServiceFixtures",
            dependencies: [
                "CloudConsole", "CloudEngine", "CloudService", "CloudStorageSupport", "CloudWire", "StorageFixtures", "TestBasics",
            ],
            path: "Sources/TestSupport/ServiceFixtures"),
        // Counts what a thread takes from the heap.
        .target(name: "CAllocationCounter", path: "Sources/TestSupport/CAllocationCounter"),
        .testTarget(
            name: "ObjectGraphTests",
            dependencies: [
                "CAllocationCounter", "CFaultyDisk", "ManagedModel", "ObjectGraph", "PredicateKit", "SQLiteStore", "TestBasics",
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "ModelFileTests", dependencies: ["ManagedModel", "ModelFile", "ModelFolders"]),
        .testTarget(
            name: "ModelToolTests", dependencies: ["CoreData", "ManagedModel", "ModelFile", "ModelFolders", "ModelTool", "TestBasics"],
            exclude: ["Golden", "Shelves.xcdatamodeld"],
            plugins: ["ModelCompilerPlugin"]),
        .testTarget(name: "CloudWireTests", dependencies: ["CloudWire"]),
        .testTarget(name: "CloudKitTests", dependencies: ["CloudInProcess", "CloudKit", "CloudService", "CloudWire", "SystemSupport"]),
        .testTarget(name: "CloudKitTestingTests", dependencies: ["CloudKit", "CloudKitTesting", "CoreData", "TestBasics"]),
        // Uses Apple's public API and nothing else, but for one file that starts a cloud.
        .testTarget(name: "CloudParityTests", dependencies: ["CloudKit", "CloudKitTesting", "CoreData"]),
        // Code as apps have it, in the language mode that most apps have.
        .testTarget(
            name: "TypicalCloudCodeTests", dependencies: ["CloudKit", "CloudKitTesting"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "MirroringCoreTests",
            dependencies: ["CloudWire", "ManagedModel", "MirroringCore", "SystemSupport", "TestBasics", "ValueSimulation"]),
        .testTarget(
            name: "CloudMirroringTests",
            dependencies: [
                "CFaultyDisk", "CloudCollaboration", "CloudInProcess", "CloudKit", "CloudMirroring", "CloudService", "CloudWire",
                "CoreData", "ManagedModel", "MirroringCore", "ModelFolders", "ObjectGraph", "SQLiteStore", "StatementPlans",
                "SystemSupport", "TestBasics",
            ],
            resources: [.copy("Samples")]),
        .testTarget(
            name: "TarnMirrorTests",
            dependencies: [
                "CloudInProcess", "CloudKit", "CloudMirroring", "CloudWire", "CoreData", "ManagedModel", "MirroringCore", "TarnMirror",
                "ModelFolders", "SimulationKit", "TestBasics",
            ]),
        .testTarget(name: "SimulationTests", dependencies: ["SimulationKit", "TestBasics"]),
        .testTarget(name: "CloudCollaborationTests", dependencies: ["CloudCollaboration", "CoreData"]),
        .testTarget(
            name: "CloudEngineTests",
            dependencies: [
                "CloudEngine", "CloudEngineSQLite", "CloudService", "CloudWire", "EngineFixtures", "PredicateKit", "StorageFixtures",
                "SystemSupport", "TestBasics",
            ],
            exclude: ["Fuzzing/Corpus"]),
        .testTarget(
            name: "CloudServiceTests",
            dependencies: [
                "CloudEngine", "CloudEngineSQLite", "CloudService", "CloudStorageSupport", "CloudWire", "ServiceFixtures",
                "StorageFixtures", "TestBasics",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "CloudEngineSQLiteTests",
            dependencies: [
                "CloudEngine", "CloudEngineSQLite", "CloudService", "CloudStorageSupport", "CloudWire", "EngineFixtures",
                "ServiceFixtures", "StatementPlans", "StorageFixtures", "SystemSupport", "TestBasics",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            resources: [.copy("Samples")]),
        .testTarget(
            name: "CloudIdentityTests",
            dependencies: [
                "CloudConsole", "CloudEngine", "CloudEngineSQLite", "CloudIdentity", "CloudService", "CloudWire", "ServiceFixtures",
                "TarnCommands", "TestBasics",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]),
        .testTarget(name: "CloudInProcessTests", dependencies: ["CloudInProcess", "CloudKit", "CloudWire"]),
        .testTarget(
            name: "TarnCommandsTests",
            dependencies: [
                "CloudConsole", "CloudEngine", "CloudEngineSQLite", "CloudIdentity", "CloudInProcess", "CloudKit", "CloudServer",
                "CloudService", "CloudStorageSupport", "CloudWire", "ManagedModel", "MirroringCore", "ModelFile", "SQLiteStore",
                "ServiceFixtures", "StorageFixtures", "SystemSupport", "TarnCommands", "TestBasics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            exclude: ["Golden"]),
        .testTarget(
            name: "CloudConsoleTests",
            dependencies: [
                "CloudConsole", "CloudEngine", "CloudEngineSQLite", "CloudService", "CloudStorageSupport", "CloudWire", "ServiceFixtures",
                "StorageFixtures", "SystemSupport", "TarnCommands", "TestBasics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "CloudServerTests",
            dependencies: [
                "CZlib", "CloudConsole", "CloudEngine", "CloudEngineSQLite", "CloudKit", "CloudServer", "CloudService",
                "CloudStorageSupport", "CloudWire", "CoreData", "ServiceFixtures", "StorageFixtures", "SystemSupport", "TarnCommands",
                "TarnMirror", "TestBasics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CloudKit", "CoreData", "PostsApp", "TarnCommands", "TestBasics",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            exclude: ["Page", "Plain"]),
        .testTarget(name: "RepositoryTests"),
    ],
    swiftLanguageModes: [.v6]
)

// What `make bench` measures with. Builds and tests of the library do not pay for it.
if Context.environment["TARN_BENCH"] != nil {
    package.targets += [
        .executableTarget(
            name: "bench",
            dependencies: [
                "CMalloc", "CZlib", "CloudKit", "CloudKitTesting", "CloudWire", "CoreData", "ObjectGraph", "SQLiteStore", "TarnCommands",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Benchmarks/Bench",
            exclude: ["Bench.xcdatamodeld"],
            plugins: ["ModelCompilerPlugin"])
    ]
}

// The example, which has a package of its own, as `make test` compiles and runs it: Tarn is compiled once for both. `make
// examples` builds the package, as apps do.
if Context.environment["TARN_EXAMPLES"] != nil {
    let accessNotes = "\(Context.packageDirectory)/Examples/Notebook/CoreData.accessnotes"
    package.targets += [
        .executableTarget(
            name: "Notebook",
            dependencies: ["CoreData"],
            path: "Examples/Notebook/Sources/Notebook",
            exclude: ["Model/Notebook.xcdatamodeld"],
            swiftSettings: [
                .swiftLanguageMode(.v5),
                .unsafeFlags(["-access-notes-path", accessNotes, "-Xfrontend", "-Raccess-note=none"]),
            ],
            plugins: ["ModelCompilerPlugin"])
    ]
}

// The server's engine on PostgreSQL, where libpq's headers are (Debian: libpq-dev). TARN_POSTGRES=1 requires it, 0 leaves it out.
// Apps need neither: without it, `tarn serve --database` says so.
let hasLibPQ =
    switch Context.environment["TARN_POSTGRES"] {
    case "0": false
    case .some(let wanted) where !wanted.isEmpty: true
    default: ["/usr/include/postgresql/libpq-fe.h", "/usr/include/libpq-fe.h"].contains { FileManager.default.fileExists(atPath: $0) }
    }
if hasLibPQ {
    package.targets += [
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "CloudEnginePostgres",
            dependencies: [
                "CLibPQ", "CloudEngine", "CloudService", "CloudStorageSupport", "CloudWire", "SystemSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        // Starts PostgreSQL in a temporary folder, where it is installed.
        .target(name: "TemporaryPostgres", path: "Sources/TestSupport/TemporaryPostgres"),
    ]
    for target in package.targets
    where ["EndToEndTests", "StorageFixtures", "TarnCommands", "TarnCommandsTests"].contains(target.name)
        || ["CloudEngineSQLiteTests", "CloudServerTests", "CloudServiceTests", "SimulationKit", "SimulationTests"].contains(target.name)
    {
        target.dependencies += target.name == "TarnCommands" ? ["CloudEnginePostgres"] : ["CloudEnginePostgres", "TemporaryPostgres"]
        target.swiftSettings = [.define("TARN_POSTGRES")]
    }
}

// Apple's platforms have modules named CoreData and CloudKit: there the package offers the mirror alone, which imports the system's
// CoreData, and the targets that it stands on. TARN_APPLE=1 shows that manifest on Linux.
#if canImport(Darwin)
    let isForApple = true
#else
    let isForApple = Context.environment["TARN_APPLE"] != nil
#endif
if isForApple {
    let offered: Set<String> = ["CloudWire", "ManagedModel", "MirroringCore", "SystemSupport", "TarnMirror"]
    package.platforms = [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)]
    package.products = [.library(name: "TarnMirror", targets: ["TarnMirror"])]
    package.dependencies = []
    package.targets.removeAll { !offered.contains($0.name) }
    for target in package.targets {
        target.dependencies.removeAll { dependency in
            if case .byNameItem(let name, _) = dependency { return !offered.contains(name) }
            return true
        }
    }
}

// No compiler of Apple's has seen these targets in continuous integration: its warnings are the reader's.
let warnings: [SwiftSetting] = isForApple ? [] : [.treatAllWarnings(as: .error)]
// A request passes some hundred asynchronous functions of these: each runs where its caller runs, without a switch of executors.
let server: Set<String> = ["CloudConsole", "CloudEnginePostgres", "CloudEngineSQLite", "CloudServer", "CloudService"]
for target in package.targets
where target.type != .plugin
    && ![
        "CRuntimeRecords", "CAllocationCounter", "CFaultyDisk", "CLibPQ", "CMalloc", "CSQLite", "CStatementLog", "CZlib", "Notebook",
        "TypicalCloudCodeTests",
    ].contains(target.name)
{
    target.swiftSettings =
        (target.swiftSettings ?? []) + warnings + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
        ] + (server.contains(target.name) ? [.enableUpcomingFeature("NonisolatedNonsendingByDefault")] : [])
}
