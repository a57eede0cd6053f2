// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct DiskSpaceTests {
    @Test func theFreeSpaceIsThatOfTheFoldersDisk() throws {
        #expect(try #require(DiskSpace.freeBytes(of: "/tmp")) > 0)
        #expect(DiskSpace.freeBytes(of: "/no/such/folder") == nil)
    }
}
