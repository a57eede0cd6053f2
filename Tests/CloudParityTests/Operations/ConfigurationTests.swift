// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Testing

@Suite struct OperationConfigurationTests {
    @Test func aConfigurationIsCopiedAndNeverMissing() {
        let operation = CKFetchRecordsOperation(recordIDs: [])
        let group = CKOperationGroup()
        let configuration = CKOperation.Configuration()
        operation.configuration = configuration
        group.defaultConfiguration = configuration
        configuration.timeoutIntervalForRequest = 5
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        #expect(group.defaultConfiguration.timeoutIntervalForRequest == 60)
        operation.configuration.timeoutIntervalForRequest = 7
        #expect(operation.configuration.timeoutIntervalForRequest == 7)
        operation.configuration = nil
        group.defaultConfiguration = nil
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        #expect(group.defaultConfiguration.timeoutIntervalForRequest == 60)
    }
}
