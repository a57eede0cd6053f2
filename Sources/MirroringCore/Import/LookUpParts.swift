// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The requests of a look-up of many records. A server limits the records of a request, and leaves out those that do not fit into a response:
/// they are requested again.
package struct LookUpParts: Hashable, Sendable {
    private var rest: ArraySlice<String>
    private var part: [String] = []
    private var size: Int

    package init(_ names: [String], _ limits: Limits) {
        rest = names[...]
        size = max(1, min(limits.operationsPerRequest, limits.recordsPerResponse))
    }

    /// Returns the names of the next request; nil after the last one.
    package mutating func next() -> [String]? {
        part = Array(rest.prefix(size))
        rest = rest.dropFirst(part.count)
        return part.isEmpty ? nil : part
    }

    /// Divides a request that the server rejected as too large.
    ///
    /// - Returns: `false` for a request of one record.
    package mutating func halve() -> Bool {
        if part.count < 2 { return false }
        rest = (part + rest)[...]
        size = part.count / 2
        return true
    }

    /// Returns the results of a response, without those of records that are requested again.
    ///
    /// - Throws: `CloudFailure` with `.limitExceeded` if the server left out all that were requested.
    package mutating func take(_ results: [RecordResult]) throws(CloudFailure) -> [RecordResult] {
        var answered: [RecordResult] = []
        var omitted: [String] = []
        for result in results {
            if case .failure(let name, let error, _) = result, error.nativeCode == .limitExceeded {
                omitted.append(name)
            } else {
                answered.append(result)
            }
        }
        guard omitted.count < part.count else {
            throw CloudFailure(.limitExceeded, "a record is larger than the server's responses may be")
        }
        rest = (omitted + rest)[...]
        return answered
    }
}
