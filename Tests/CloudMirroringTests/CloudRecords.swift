// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire

extension InProcessCloud {
    /// Everybody's records of a type, as the server keeps them.
    func records(ofType type: String) async throws -> [Record] {
        try await databases(of: Device.containerIdentifier).flatMap(\.zones).flatMap(\.records).filter { $0.recordType == type }
    }
}
