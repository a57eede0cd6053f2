// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudWire
    import ServiceFixtures
    import StorageFixtures
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudService

    /// Wrong passwords at two processes on one database.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }) struct SharedAttemptTests {
        private let place: ServerPlace
        private let services: [Village]

        init() async throws {
            let place = try ServerPlace(.postgres)
            self.place = place
            services = [try Village(place: place), try Village(place: place)]
            let store = services[0].store
            _ = try await store.addUser(name: "mia", deviceLabel: "phone", now: 1)
            try await store.setPassword("correct horse", ofUser: "mia")
        }

        /// - Returns: The code of the refusal; nil for a right password.
        private func signIn(
            _ password: String, at process: Int, as name: String = "mia", from network: String = "a"
        ) async throws -> WireError.Code? {
            do {
                try await services[process].service.signIns.confirmPassword(password, ofUser: name, network: network)
                return nil
            } catch let error as WireError {
                return error.code
            }
        }

        @Test func wrongPasswordsAtOneProcessDelayAnother() async throws {
            for attempt in 0..<5 { #expect(try await signIn("wrong", at: attempt % 2) == .authenticationFailed) }
            for process in 0...1 { #expect(try await signIn("correct horse", at: process) == .throttled) }
            #expect(try await signIn("correct horse", at: 1, from: "b") == nil)
            for village in services { village.clock.advance(seconds: 1) }
            #expect(try await signIn("correct horse", at: 1) == nil)
            // The right password forgot the wrong ones, at both.
            #expect(try await signIn("wrong", at: 0) == .authenticationFailed)
            #expect(try await signIn("wrong", at: 1) == .authenticationFailed)
        }

        @Test func concurrentAttemptsAtBothProcessesCount() async throws {
            let codes = try await withThrowingTaskGroup(of: WireError.Code?.self) { group in
                for attempt in 0..<16 { group.addTask { try await signIn("wrong", at: attempt % 2) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.count(where: { $0 == .authenticationFailed }) == 5)
            #expect(codes.count(where: { $0 == .throttled }) == 11)
        }

        /// A network that has to wait cannot fill the table with made-up names.
        @Test func anAttemptThatHasToWaitWritesNothing() async throws {
            var number = 0
            while try await signIn("wrong", at: 0, as: "nobody\(number)") == .authenticationFailed { number += 1 }
            let rows = "SELECT string_agg(concat_ws(' ', key, failed, until, last, xmin), ',' ORDER BY key) FROM password_attempts"
            let before = try place.sql(rows)
            #expect(try await signIn("wrong", at: 1, as: "another") == .throttled)
            #expect(try place.sql(rows) == before)
        }

        @Test func namesAndNetworksAreNotStored() async throws {
            _ = try await signIn("wrong", at: 0, from: "203.0.113.7")
            #expect(try place.sql("SELECT count(*) FROM password_attempts") == "3")
            #expect(try place.sql("SELECT string_agg(t::text, ' ') FROM password_attempts t").contains("203.0.113") == false)
            for village in services { village.clock.advance(seconds: AttemptCount.memory / 1000 + 1) }
            try await services[0].store.removeExpired(now: services[0].clock.now)
            #expect(try place.sql("SELECT count(*) FROM password_attempts") == "0")
        }
    }
#endif
