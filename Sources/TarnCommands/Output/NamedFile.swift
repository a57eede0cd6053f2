// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Files that arguments name.
enum NamedFile {
    /// - Parameter role: The file's part in the command, for the error: `of --key-file`.
    /// - Throws: `CommandError` with the system's reason.
    static func content(of path: String, _ role: String = "") throws(CommandError) -> Data {
        if !isFolder(path), let content = FileManager.default.contents(atPath: path) { return content }
        throw unreadable(path, role)
    }

    static func unreadable(_ path: String, _ role: String = "") -> CommandError {
        let name = role.isEmpty ? path : "\(path) \(role)"
        let reason: String
        if isFolder(path) {
            reason = "it is a folder"
        } else if access(path, R_OK) == 0 {
            reason = "it is not a text"
        } else {
            reason = String(cString: strerror(errno)).lowercased()
        }
        return CommandError("The file \(name) cannot be read (\(reason)): name a file that this user may read.")
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
