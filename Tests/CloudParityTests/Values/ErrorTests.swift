// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

@Suite struct ErrorTests {
    @Test func errorsAsNSErrorAreCKErrors() throws {
        let full = NSError(domain: CKErrorDomain, code: CKError.Code.quotaExceeded.rawValue, userInfo: [CKErrorRetryAfterKey: 3.0])
        #expect(((full as any Error) as? CKError)?.code == .quotaExceeded)
        #expect(((full as any Error) as? CKError)?.retryAfterSeconds == 3)
        let caught: CKError.Code?
        do { throw full } catch let error as CKError where error.code == .quotaExceeded { caught = error.code } catch { caught = nil }
        #expect(caught == .quotaExceeded)
        let there: NSError = CKError(.zoneBusy) as NSError
        #expect(((there as any Error) as? CKError)?.code == .zoneBusy)
        #expect((NSError(domain: NSCocoaErrorDomain, code: 25) as any Error) as? CKError == nil)
        #expect((NSError(domain: CKErrorDomain, code: 9999) as any Error) as? CKError == nil)
    }

    @Test func errorsOfItemsCanBeReadAsNSErrors() throws {
        let id = CKRecord.ID(recordName: "a")
        let item = NSError(domain: CKErrorDomain, code: CKError.Code.unknownItem.rawValue)
        let error = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [id: item]]) as NSError
        let items = try #require(error.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error])
        #expect((items[id] as? CKError)?.code == .unknownItem)
    }
}
