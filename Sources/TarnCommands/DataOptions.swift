// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import Foundation

struct DataOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Folder with everything the server keeps; TARN_DATA names it too.", valueName: "folder"))
    var data = ProcessInfo.processInfo.environment["TARN_DATA"] ?? "tarn-data"

    /// Opens the folder beside a server that may be running, runs `body`, and closes it.
    func withStore<Value>(
        mustExist: Bool, name: String = "", _ body: (SQLiteServerStore) async throws -> Value
    ) async throws -> Value {
        if mustExist, !FileManager.default.fileExists(atPath: "\(data)/tarn.sqlite") {
            throw CommandError("There is no data of a tarn server in \(data): name its folder with --data.")
        }
        return try await CommandError.translating(data: data, name: name) {
            let store = try SQLiteServerStore(path: data, use: .command)
            let value: Value
            do {
                value = try await body(store)
            } catch {
                try? store.close()
                throw error
            }
            try store.close()
            return value
        }
    }
}

/// Lines that people and programs read.
enum Output {
    /// Written at once, so that a program that waits for the line gets it.
    static func line(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    static func text(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
    static func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
