// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

extension CloudService {
    /// Scans records of a zone for those of a type; see `RecordScanner.scan(_:forType:before:limit:examining:bytesMax:desiredKeys:in:_:)`.
    package func scan(
        _ zoneID: ZoneID, forType recordType: String, before number: Int64?, limit: Int, examining most: Int,
        bytesMax: Int = RecordScanner.bytesMax, desiredKeys: [String]? = nil, _ call: Call
    ) async throws -> RecordScan {
        let engine = engine
        return try await read(call) { view in
            try engine.scanner.scan(
                zoneID, forType: recordType, before: number, limit: limit, examining: most, bytesMax: bytesMax, desiredKeys: desiredKeys,
                in: view, call)
        }
    }
}
