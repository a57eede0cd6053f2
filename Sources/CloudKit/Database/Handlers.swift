// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// Runs the async form of something for its completion handler, which is called once, on a queue of the system.
func answer<Value: Sendable>(
    _ handler: @escaping @Sendable (Value?, (any Error)?) -> Void, _ body: @escaping @Sendable () async throws -> Value
) {
    Task {
        do {
            let value = try await body()
            DispatchQueue.global().async { handler(value, nil) }
        } catch {
            DispatchQueue.global().async { handler(nil, error) }
        }
    }
}

func answer<Value: Sendable>(
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
