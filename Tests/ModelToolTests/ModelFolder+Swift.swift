// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ModelFile
import ModelFolders
import ModelTool

extension ModelFolder {
    /// Returns the Swift source that is generated for the model.
    func swift(module: String? = nil) throws -> String {
        try SwiftWriter(try read(module: module), module: module).source()
    }
}
