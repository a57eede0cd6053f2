// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Limits of one request, which operations of several subjects check.
extension Limits {
    /// Refuses a request with more items than allowed.
    package func checkCount(_ count: Int, of what: String, atMost limit: Int) throws(WireError) {
        guard count <= limit else {
            throw WireError(.badRequest, "too many \(what) in one request, at most \(limit)", nativeCode: .limitExceeded)
        }
    }

    /// Results on a page.
    ///
    /// - Parameter asked: The limit of the request.
    func pageLimit(_ asked: Int?, atMost most: Int? = nil) throws(WireError) -> Int {
        guard let asked else { return recordsPerResponse }
        guard asked > 0 else { throw WireError(.badRequest, "resultsLimit is below 1") }
        return min(asked, most ?? recordsPerResponse)
    }

    /// Bytes of memory of the stored records of one request, and of the records in a change page or in the response to a group: half of that
    /// of all requests, and at least that of one message.
    var storedMemoryMax: Int { max(requestMemoryBytes / 2, Self.messageBytes) }

    /// Bytes of memory of the records that a request deletes by cascade. A cascade can't be divided, so it may take more than the records
    /// that the request names.
    var cascadedMemoryMax: Int { max(requestMemoryBytes, Self.messageBytes) }
}
