// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile

/// A model that a command reads.
enum ModelInput {
    /// Returns the current version of a model: of an .xcdatamodeld or .xcdatamodel folder, or of a compiled .momd file.
    ///
    /// - Throws: `CommandError` for a file that isn't a readable model.
    static func read(_ path: String) throws -> Model {
        let url = URL(fileURLWithPath: path)
        do {
            guard ["xcdatamodel", "xcdatamodeld"].contains(url.pathExtension) else {
                return try CompiledModel(contentsOf: url).current
            }
            return try ModelFileReader.read(contentsOf: url).compiled.current
        } catch let error as ModelFileError {
            throw CommandError(error.diagnostics.map(\.description).joined(separator: "\n"))
        } catch {
            throw CommandError("'\(path)' isn't a readable model: give an .xcdatamodel, an .xcdatamodeld or a .momd.")
        }
    }
}
