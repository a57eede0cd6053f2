// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import PackageDescription

// A package as an app's own: Tarn on Linux, Apple's frameworks on Apple's platforms, the same sources for both.
let package = Package(
    name: "Notebook",
    platforms: [.macOS(.v14)],
    dependencies: [.package(name: "tarn", path: "../..")],
    targets: [
        .executableTarget(
            name: "Notebook",
            dependencies: [.product(name: "CoreData", package: "tarn", condition: .when(platforms: [.linux]))],
            exclude: ["Model/Notebook.xcdatamodeld"],
            swiftSettings: [
                // Written by `tarn port Examples/Notebook --write`.
                .unsafeFlags(
                    ["-access-notes-path", "\(Context.packageDirectory)/CoreData.accessnotes", "-Xfrontend", "-Raccess-note=none"],
                    .when(platforms: [.linux]))
            ],
            plugins: [.plugin(name: "ModelCompilerPlugin", package: "tarn")])
    ],
    swiftLanguageModes: [.v5]
)
