// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A condition of ``until(isolation:_:)`` that did not hold in time.
package struct ConditionTimeout: Error, CustomStringConvertible {
    package let description: String
}

/// Returns once a condition holds that has no signal to wait for, such as a count of another thread.
///
/// - Throws: ``ConditionTimeout`` after two minutes, so that the run of all tests ends; `CancellationError` in a cancelled task.
package func until(
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID, line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < end else { throw ConditionTimeout(description: "\(file):\(line): the condition does not hold") }
        await Task.yield()
    }
}
