// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SystemSupport
import Testing

@Suite struct RetryPolicyTests {
    private func decide(_ code: AppErrorCode, attempt: Int = 1, jitter: Double = 1, retryAfter: Double? = nil) -> RetryPolicy.Decision {
        RetryPolicy.decide(CloudFailure(code, "r", retryAfterSeconds: retryAfter), attempt: attempt, jitter: jitter)
    }

    @Test func eachErrorCodeHasItsRetryDecision() {
        let waiting: Set<AppErrorCode> = [
            .internalError, .partialFailure, .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited,
            .serverRejectedRequest, .assetFileNotFound, .assetFileModified, .constraintViolation, .operationCancelled,
            .batchRequestFailed, .zoneBusy, .quotaExceeded, .serverResponseLost, .assetNotAvailable, .resultsTruncated,
        ]
        let stopping: Set<AppErrorCode> = [.badContainer, .missingEntitlement, .badDatabase]
        for code in AppErrorCode.allCases {
            switch decide(code) {
            case .wait(_, let isOffline, "r"):
                #expect(waiting.contains(code), "\(code)")
                #expect(isOffline == [.networkUnavailable, .networkFailure, .serverResponseLost].contains(code), "\(code)")
            case .stop("r"): #expect(stopping.contains(code), "\(code)")
            case .pause("r"): #expect(!waiting.union(stopping).contains(code), "\(code)")
            case .fetchAgain: #expect(code == .changeTokenExpired)
            case .uploadAgain: #expect(code == .zoneNotFound)
            case .removeRows: #expect(code == .userDeletedZone)
            case .split: #expect(code == .limitExceeded)
            case .importFirst: #expect(code == .serverRecordChanged)
            case .wait, .stop, .pause: Issue.record("\(code) lost its reason")
            }
        }
    }

    @Test func retryDelaysDoubleUpToAMaximumWithJitter() {
        func delay(_ attempt: Int, _ jitter: Double) -> Duration? {
            if case .wait(let delay, _, _) = decide(.zoneBusy, attempt: attempt, jitter: jitter) { delay } else { nil }
        }
        #expect((1...5).map { delay($0, 1) } == [1, 2, 4, 8, 16].map { .seconds($0) })
        #expect(delay(1, 0) == .milliseconds(500))
        #expect(delay(3, 0.5) == .seconds(3))
        #expect([1, 0].map { delay(100, $0) } == [.seconds(300), .seconds(150)])
    }

    /// A delay that is cut after its jitter is the same on all devices, which then return together after an outage.
    @Test func offlineAndPushDelaysHaveJitterBelowTheirMaximum() {
        func delay(_ jitter: Double) -> Duration? {
            if case .wait(let delay, _, _) = decide(.networkUnavailable, attempt: 100, jitter: jitter) { delay } else { nil }
        }
        #expect([0, 0.5, 1].map { delay($0) } == [.seconds(7.5), .seconds(11.25), .seconds(15)])
        #expect(
            [0, 0.5, 1].map { Backoff.push.delay(attempt: 100, jitter: $0) } == [.seconds(2.5), .seconds(3.75), .seconds(5)])
    }

    @Test func retryAfterOfTheServerIsObeyedExactly() {
        #expect(decide(.requestRateLimited, attempt: 5, retryAfter: 42) == .wait(.seconds(42), isOffline: false, reason: "r"))
        #expect(decide(.zoneBusy, retryAfter: 0) == .wait(.seconds(0), isOffline: false, reason: "r"))
        #expect(decide(.zoneBusy, retryAfter: -1) == .wait(.seconds(1), isOffline: false, reason: "r"))
        #expect(decide(.zoneBusy, retryAfter: .nan) == .wait(.seconds(1), isOffline: false, reason: "r"))
    }

    @Test func serverErrorsAreRetriedALimitedNumberOfTimes() {
        #expect(decide(.internalError, attempt: 7) == .wait(.seconds(64), isOffline: false, reason: "r"))
        #expect(decide(.internalError, attempt: 8) == .wait(.seconds(128), isOffline: false, reason: "r"))
    }

    @Test func retryAfterIsLimitedToOneDay() {
        #expect(CloudFailure(.zoneBusy, "r", retryAfter: .seconds(1_000_000)).retryAfter == CloudFailure.retryAfterMax)
        #expect(CloudFailure(.zoneBusy, "r", retryAfter: .seconds(-1)).retryAfter == .zero)
        #expect(CloudFailure(.zoneBusy, "r", retryAfterSeconds: 1e300).retryAfter == CloudFailure.retryAfterMax)
    }

    @Test func everyWireErrorHasACKErrorCode() {
        for code in WireError.Code.allCases {
            #expect(CloudFailure(WireError(code, "w", retryAfter: 3)).retryAfter == .seconds(3))
        }
        #expect(CloudFailure(WireError(.badRequest, "w", nativeCode: .changeTokenExpired)).code == .changeTokenExpired)
        #expect(CloudFailure(WireError(.exists, "w")).code == .serverRecordChanged)
    }

    /// A request that the server left in doubt keeps its key; one that a busy server refused does not need it.
    @Test func aCommitInDoubtIsNotARefusal() throws {
        let inDoubt = WireError(.tryAgainLater, "w", retryAfter: 1, nativeCode: .serverResponseLost)
        #expect(RetryPolicy.fate(of: CloudFailure(try WireError(json: inDoubt.encoded()))) == .uncertain)
        #expect(RetryPolicy.fate(of: CloudFailure(WireError(.tryAgainLater, "w", retryAfter: 1))) == .notNow)
    }

    /// Both codes are one to an app. A fault ends, a rejection doesn't.
    @Test func aServerErrorDoesNotRejectTheItem() {
        #expect(AppErrorCode(WireError(.internalError, "w")) == .serverRejectedRequest)
        #expect(RetryPolicy.itemDecision(CloudFailure(WireError(.internalError, "w"))) == .later)
        #expect(RetryPolicy.itemDecision(CloudFailure(.serverRejectedRequest, "r")) == .giveUp)
    }
}
