// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelTool

@main struct ModelCompilerTool {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        func complain(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
        let code =
            arguments.first == "accessors"
            ? AccessorCommand.run(arguments.dropFirst(), complain: complain)
            : ModelCompilerCommand.run(arguments, complain: complain, say: { print($0) })
        exit(code)
    }
}
