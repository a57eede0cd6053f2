// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// Runs an async function and calls a completion handler with its result, once, on a system queue.
func complete<Value: Sendable>(
    _ handler: @escaping @Sendable (Value?, (any Error)?) -> Void, _ body: @escaping @Sendable () async throws -> Value
) {
    complete({ (result: Result<Value, any Error>) in handler(result.value, result.failure) }, body)
}

func complete<Value: Sendable>(
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void, _ body: @escaping @Sendable () async throws -> Value
) {
    Task {
        let result: Result<Value, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        DispatchQueue.global().async { handler(result) }
    }
}
