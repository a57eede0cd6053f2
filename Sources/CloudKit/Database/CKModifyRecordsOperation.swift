// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Source: Apple's documentation of `CKModifyRecordsOperation`. The operation itself is not offered yet; its save
/// policies are those of ``CKDatabase/modifyRecords(saving:deleting:savePolicy:atomically:)``.
public enum CKModifyRecordsOperation {
    public enum RecordSavePolicy: Int, Sendable {
        /// Changed fields are sent; a record that is another on the server by now is refused with
        /// `.serverRecordChanged`.
        case ifServerRecordUnchanged = 0
        /// Changed fields are sent and win, whatever the server has.
        case changedKeys = 1
        /// All fields are sent and win; fields that only the server has stay.
        case allKeys = 2
    }
}
