// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A folder that goes with the test.
package final class TemporaryFolder: Sendable {
    package let path = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)").path

    package init() {}

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
