// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelCompiler

@main struct ModelCompilerTool {
    static func main() {
        let code = ModelCompilerCommand.run(
            Array(CommandLine.arguments.dropFirst()),
            complain: { FileHandle.standardError.write(Data(($0 + "\n").utf8)) },
            say: { print($0) })
        exit(code)
    }
}
