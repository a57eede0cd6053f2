// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import PackageDescription

// Apart from the library, so that neither its builds nor its tests pay for this one.
let package = Package(
    name: "tarn-bench",
    dependencies: [
        .package(name: "tarn", path: ".."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // The C library's own count of the heap.
        .systemLibrary(name: "CMalloc"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CMalloc",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreData", package: "tarn"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            path: "Sources/Bench",
            exclude: ["Bench.xcdatamodeld"],
            swiftSettings: [
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ],
            plugins: [.plugin(name: "ModelCompilerPlugin", package: "tarn")])
    ],
    swiftLanguageModes: [.v6]
)
