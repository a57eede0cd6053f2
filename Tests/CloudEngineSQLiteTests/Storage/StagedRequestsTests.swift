// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import TestBasics
import Testing

@testable import CloudEngineSQLite

struct StagedRequestsTests {
    private let folder = TemporaryFolder()
    private let staged: StagedRequests

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        staged = StagedRequests(folder: "\(folder.path)/staged")
    }

    private func key(_ id: String, user: String = "mia", device: String = "tablet") -> StagedGroupKey {
        StagedGroupKey(userRecordName: user, deviceID: device, id: id)
    }

    private func stage(_ key: StagedGroupKey, _ number: Int, _ text: String, part: Int64 = 1, at time: Int64 = 0) throws {
        let request = StagedRequest(group: key, part: number, parts: 3, body: Array(text.utf8), growth: text.utf8.count * 2)
        try staged.stage(request, part: part, at: time)
    }

    private func fileCount() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/staged").count) ?? 0 }

    @Test func aRequestReplacesTheOneWithItsNumber() throws {
        try stage(key("one"), 1, "second")
        try stage(key("one"), 0, "first")
        try stage(key("one"), 1, "again")
        #expect(staged.sizes(of: key("one"), part: 1).map(\.part) == [0, 1])
        #expect(staged.sizes(of: key("one"), part: 1).map(\.bytes) == [5, 5])
        #expect(staged.body(1, of: key("one"), part: 1) == Array("again".utf8))
        #expect(staged.body(2, of: key("one"), part: 1) == nil)
        #expect(fileCount() == 2)
        staged.remove(key("one"), part: 1)
        #expect(staged.sizes(of: key("one"), part: 1).isEmpty)
        #expect(fileCount() == 0)
    }

    @Test func groupsBelongToADeviceOfAUserInOneDatabase() throws {
        try stage(key("one"), 0, "a")
        #expect(staged.body(0, of: key("one"), part: 2) == nil)
        #expect(staged.body(0, of: key("one", user: "bo"), part: 1) == nil)
        #expect(staged.body(0, of: key("one", device: "phone"), part: 1) == nil)
        #expect(staged.groups(ofUser: "mia", part: 1).map(\.key) == [key("one")])
        #expect(staged.groups(ofUser: "mia", part: 2).isEmpty)
        #expect(staged.groups(ofUser: "bo", part: 1).isEmpty)
    }

    @Test func theFirstGroupIsTheOneThatWaitsLongest() throws {
        try stage(key("one"), 0, "a", at: 1)
        try stage(key("two"), 0, "bb", at: 2)
        try stage(key("one"), 1, "ccc", at: 3)
        let groups = staged.groups(ofUser: "mia", part: 1)
        #expect(groups.map(\.key.id) == ["two", "one"])
        #expect(groups.map(\.bytes) == [2, 4])
        #expect(groups.map(\.growth) == [4, 8])
        staged.removeAll(before: 3)
        #expect(staged.groups(ofUser: "mia", part: 1).map(\.key.id) == ["one"])
        #expect(fileCount() == 2)
        staged.removeAll()
        #expect(staged.groups(ofUser: "mia", part: 1).isEmpty)
        #expect(fileCount() == 0)
    }

    @Test func aServerBeginsWithoutTheRequestsOfTheOneBefore() throws {
        try stage(key("one"), 0, "a")
        let next = StagedRequests(folder: "\(folder.path)/staged")
        next.removeFiles()
        #expect(next.body(0, of: key("one"), part: 1) == nil)
        #expect(fileCount() == 0)
    }

    @Test func aGroupWhoseFilesAnotherProcessRemovedIsGone() throws {
        try stage(key("one"), 0, "a")
        try stage(key("one"), 1, "b")
        StagedRequests(folder: "\(folder.path)/staged").removeAll()
        #expect(fileCount() == 0)
        #expect(staged.sizes(of: key("one"), part: 1).count == 2)
        #expect(staged.body(1, of: key("one"), part: 1) == nil)
        #expect(staged.sizes(of: key("one"), part: 1).isEmpty)
        try stage(key("one"), 0, "again")
        #expect(staged.body(0, of: key("one"), part: 1) == Array("again".utf8))
    }

    @Test func aRequestThatCannotBeStoredLeavesNothing() throws {
        let missing = StagedRequests(folder: "\(folder.path)/no/staged")
        let request = StagedRequest(group: key("one"), part: 0, parts: 2, body: [1], growth: 1)
        let error = #expect(throws: StorageFailure.self) { try missing.stage(request, part: 1, at: 0) }
        #expect(error?.code == .notWritable)
        #expect(missing.sizes(of: key("one"), part: 1).isEmpty)
    }
}
