// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The requests of a look-up of many records. A server limits the records of a request, and leaves out those that do not fit into a response:
/// they are requested again.
package struct LookUpParts: Hashable, Sendable {
    private var rest: ArraySlice<String>
    private var part: [String] = []
    private var size: Int

    /// - Parameter recordsMax: The largest number of records that the caller handles together.
    package init(_ names: [String], _ limits: Limits, atMost recordsMax: Int = .max) {
        rest = names[...]
        size = max(1, min(limits.operationsPerRequest, limits.recordsPerResponse, recordsMax))
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
    /// A record that does not even fit alone keeps its failure: the look-up ends in any case.
    package mutating func take(_ results: [RecordResult]) -> [RecordResult] {
        let omitted = results.filter(\.isOmitted).map(\.recordName)
        guard omitted.count < part.count else { return halve() ? [] : results }
        rest = (omitted + rest)[...]
        return results.filter { !$0.isOmitted }
    }
}

extension RecordResult {
    /// Whether the response to a look-up had no room for the record.
    package var isOmitted: Bool {
        if case .failure(_, let error, _) = self { error.nativeCode == .limitExceeded } else { false }
    }
}
