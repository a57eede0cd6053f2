// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
@testable import CloudMirroring
import CloudWire
import CoreData
import Crypto
import Foundation
import MirroringCore
import SQLiteStore
import Synchronization
import TestBasics
import Testing

/// Responses of a server, or of the network before it, to requests for snapshots.
private final class SnapshotWire: CloudTransport {
    enum Answer: Sendable {
        case bytes([UInt8])
        case refuse(status: Int, WireError)
        case fail(CKError)
        /// Zeros without an end.
        case endless
    }

    private let transport: InProcessTransport
    private let answer: @Sendable (_ number: Int, _ offset: Int, _ bytes: [UInt8]) async throws -> Answer
    private let offsets = Mutex<[Int]>([])
    var needsIdleTimeout: Bool { transport.needsIdleTimeout }
    var credential: String? { transport.credential }

    /// - Parameter answer: Receives the number of the request, beginning with 1, the offset that it asks for, and the server's bytes.
    init(
        _ transport: InProcessTransport,
        _ answer: @escaping @Sendable (_ number: Int, _ offset: Int, _ bytes: [UInt8]) async throws -> Answer
    ) {
        self.transport = transport
        self.answer = answer
    }

    /// The offsets that were requested, in order.
    var requests: [Int] { offsets.withLock { $0 } }

    /// The bodies of the whole frames at the beginning of bytes.
    static func bodies(_ bytes: [UInt8]) -> [[UInt8]] {
        var rest = bytes[...], bodies: [[UInt8]] = []
        while let head = SnapshotFrame.head(rest), rest.count >= SnapshotFrame.headBytes + head.length {
            bodies.append(Array(rest.dropFirst(SnapshotFrame.headBytes).prefix(head.length)))
            rest = rest.dropFirst(SnapshotFrame.headBytes + head.length)
        }
        return bodies
    }

    /// A snapshot of bodies.
    static func frames(_ bodies: [[UInt8]]) -> [UInt8] {
        var digest = SnapshotFrame.firstDigest, bytes: [UInt8] = []
        for body in bodies {
            digest = Array(SHA256.hash(data: digest + body))
            bytes += SnapshotFrame.head(length: body.count, digest: digest) + body
        }
        return bytes
    }

    /// The first frame of bytes, with a part of the next one.
    static func firstFrame(_ bytes: [UInt8]) -> [UInt8] {
        guard let head = SnapshotFrame.head(bytes[...]) else { return bytes }
        return Array(bytes.prefix(SnapshotFrame.headBytes + head.length + 20))
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse { try await transport.send(request) }

    func stream(_ request: TransportRequest) async throws -> TransportStream {
        let stream = try await transport.stream(request)
        guard case .service(let path) = request.target, path.contains("changes/snapshot") else { return stream }
        let offset = request.headers[HeaderNames.range].flatMap { Int($0.dropFirst("bytes=".count).prefix { $0 != "-" }) } ?? 0
        let number = offsets.withLock { offsets in
            offsets.append(offset)
            return offsets.count
        }
        var bytes: [UInt8] = []
        for try await chunk in stream.chunks { bytes += chunk }
        var answered = stream
        switch try await answer(number, offset, bytes) {
        case .bytes(let bytes): answered.chunks = Self.chunks([bytes])
        case .refuse(let status, let error):
            answered.status = status
            answered.chunks = Self.chunks([error.encoded()])
        case .fail(let error): throw error
        case .endless: answered.chunks = AsyncThrowingStream<[UInt8], any Error>(unfolding: { [UInt8](repeating: 0, count: 100_000) })
        }
        return answered
    }

    private static func chunks(_ pieces: [[UInt8]]) -> AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
    }
}

/// A new device reads a snapshot of a zone, and then the feed.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SnapshotTests {
    /// Frames and change pages of 40 records.
    private static var limits: Limits {
        var limits = Limits()
        limits.recordsPerResponse = 40
        limits.recordsPerLargePage = 40
        limits.snapshotRecordsMin = 100
        return limits
    }

    private static let lost = CKError(.networkFailure, "the connection broke")

    private static func stage(_ bytes: Int) -> (inout SyncEnvironment) -> Void { { $0.stagingBytesMax = bytes } }

    /// A server, and a device with 150 linked objects on it.
    ///
    /// - Parameter isBuilt: Whether the snapshot is complete before another device asks for it.
    private static func start(isBuilt: Bool = true) async throws -> (cloud: InProcessCloud, tablet: Device) {
        let cloud = try InProcessCloud(limits: limits, hasSnapshots: true)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in
            let tag = context.insert("Tag", ["name": "all"])
            for number in 0..<150 { context.insert("Post", ["title": "\(number)"]).setValue(Set([tag]), forKey: "tags") }
        }
        try await tablet.container.sync(timeout: .seconds(600))
        if isBuilt { try await build(cloud, tablet) }
        return (cloud, tablet)
    }

    private static func build(_ cloud: InProcessCloud, _ tablet: Device) async throws {
        try await build(
            cloud,
            CloudDatabaseClient(
                containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: tablet.transport))
    }

    private static func build(_ cloud: InProcessCloud, _ client: CloudDatabaseClient) async throws {
        let query = ZoneChangesQuery(zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone"))
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [query]), asking: [.snapshots])
        guard case .changes(let page)? = answer.zones.first, page.snapshot != nil else { throw WireError(.internalError, "no snapshot") }
        await cloud.snapshotsAreIdle()
    }

    private static func addPhone(
        _ cloud: InProcessCloud, staging: Int = 4_000_000, over transport: InProcessTransport? = nil,
        _ answer: @escaping @Sendable (_ number: Int, _ offset: Int, _ bytes: [UInt8]) async throws -> SnapshotWire.Answer
    ) async throws -> (device: Device, wire: SnapshotWire) {
        let transport = if let transport { transport } else { try await cloud.addDevice("phone", of: "mia") }
        let wire = SnapshotWire(transport, answer)
        let phone = try Device("phone", transport, over: wire, configure: stage(staging))
        phone.timers.runFreely(upTo: 60)
        return (phone, wire)
    }

    private static func posts(_ context: NSManagedObjectContext) throws -> String { "\(try context.all("Post").count)" }

    // MARK: Reading

    @Test(arguments: [4_000_000, 0]) func aNewDeviceStartsFromASnapshotAndShowsItWhole(staging: Int) async throws {
        let (cloud, tablet) = try await Self.start()
        let transport = try await cloud.addDevice("phone", of: "mia")
        let phone = try Device("phone", transport, configure: Self.stage(staging))
        let views = Views(of: phone, Self.posts)
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(views.all.filter { $0 != "0" } == ["150"])
        #expect(transport.log.filter { $0 == "changes/snapshot" }.count == 1)
        #expect(transport.log.filter { $0 == "changes/zone" }.count < 5, "the offer, and the feed behind the snapshot")
        // Both go on with the feed.
        try phone.edit { _ = $0.insert("Post", ["title": "phone"]) }
        try await tablet.settles { try tablet.dump == phone.dump }
    }

    /// Records with assets are requested for their addresses: more than a look-up returns.
    @Test func aFrameWithManyAssetsIsRead() async throws {
        var limits = Self.limits
        limits.recordsPerResponse = 4
        let cloud = try InProcessCloud(limits: limits, hasSnapshots: true)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in
            for number in 0..<110 {
                let post = context.insert("Post", ["title": "\(number)"])
                // Three frames: one of them has five of these at least.
                if number < 13 { post.setValue(String(repeating: "x", count: 800_000 + number), forKey: "content") }
            }
        }
        try await tablet.container.sync(timeout: .seconds(600))
        try await Self.build(cloud, tablet)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(phone.transport.log.contains("changes/snapshot"))
    }

    @Test func aNewDeviceReadsASnapshotWhileItIsBuilt() async throws {
        let (cloud, tablet) = try await Self.start(isBuilt: false)
        let (phone, wire) = try await Self.addPhone(cloud) { _, _, bytes in .bytes(bytes) }
        let views = Views(of: phone, Self.posts)
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(wire.requests.first == 0)
        #expect(views.all.filter { $0 != "0" } == ["150"])
        await cloud.snapshotsAreIdle()
    }

    /// Each request brings one frame and a piece of the next, and each is cut off once.
    @Test(arguments: [4_000_000, 0]) func aReadThatIsCutAtEachFrameContinuesThere(staging: Int) async throws {
        let (cloud, tablet) = try await Self.start()
        let (phone, wire) = try await Self.addPhone(cloud, staging: staging) { number, _, bytes in
            number % 2 == 1 ? .fail(Self.lost) : .bytes(SnapshotWire.firstFrame(bytes))
        }
        try await phone.settles { try phone.dump == tablet.dump }
        let offsets = wire.requests
        #expect(offsets.count >= 8, "four frames at least, each twice")
        #expect(offsets == offsets.sorted())
        #expect(Set(offsets).count == offsets.count / 2)
    }

    @Test func changesAndDeletionsDuringTheReadArriveWithTheFeed() async throws {
        let (cloud, tablet) = try await Self.start()
        let (phone, _) = try await Self.addPhone(cloud) { number, _, bytes in
            if number == 2 {
                try tablet.edit { context in
                    for post in try context.all("Post") {
                        guard let title = post.value(forKey: "title") as? String, let number = Int(title) else { continue }
                        if number % 3 == 0 { context.delete(post) } else if number % 3 == 1 { post.setValue("new", forKey: "content") }
                    }
                    context.insert("Post", ["title": "late"])
                }
                try await tablet.container.sync(timeout: .seconds(600))
            }
            return .bytes(SnapshotWire.firstFrame(bytes))
        }
        let views = Views(of: phone, Self.posts)
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(views.all.filter { $0 != "0" } == ["101"], "no moment that the server did not have")
    }

    /// A process that is killed after some frames continues behind them: the position is stored with the staged records.
    @Test func aKilledDeviceContinuesBehindTheStagedFrames() async throws {
        let (cloud, tablet) = try await Self.start()
        let (phone, wire) = try await Self.addPhone(cloud, staging: 0) { number, _, bytes in
            number > 2 ? .fail(CKError(.networkUnavailable, "the device died")) : .bytes(SnapshotWire.firstFrame(bytes))
        }
        try await phone.until { $0.activity == .offline }
        let file = phone.file
        let read = wire.requests
        try await phone.kill()
        let other = SnapshotWire(phone.transport) { _, _, bytes in .bytes(bytes) }
        let next = try Device("phone", phone.transport, over: other, file: file, configure: Self.stage(0))
        try await next.container.sync(timeout: .seconds(600))
        #expect(try next.dump == tablet.dump)
        #expect(read.first == 0)
        #expect((other.requests.first ?? 0) > 0)
        #expect(other.requests.first == read.last)
    }

    /// Frames are decoded until it is known that the import is too large for memory, and those that were requested by then.
    @Test func laterFramesOfALargeImportAreStagedAsTheyArrive() async throws {
        let (cloud, _) = try await Self.start()
        let bodies = Mutex<[[UInt8]]>([])
        let (phone, _) = try await Self.addPhone(cloud, staging: 0) { number, _, bytes in
            if number > 5 { return .fail(CKError(.networkUnavailable, "the device died")) }
            bodies.withLock { $0 += SnapshotWire.bodies(bytes).prefix(1) }
            return .bytes(SnapshotWire.firstFrame(bytes))
        }
        try await phone.until { $0.activity == .offline }
        let folder = SQLiteStore.supportFolder(of: phone.file).appendingPathComponent("_STAGED/\(phone.file.lastPathComponent)")
        for number in 3...4 {
            let staged = try Data(contentsOf: folder.appendingPathComponent("\(MirrorZone.home)-page-\(number)"))
            let isAsItArrived = staged == Data(bodies.withLock { $0[number] })
            #expect(isAsItArrived, "page \(number)")
        }
    }

    /// The frame of the damaged value is staged as it arrived, or decoded.
    @Test(arguments: [4_000_000, 0]) func encryptedValuesOfASnapshotAreDecrypted(staging: Int) async throws {
        let stage = try await HostileStage(snapshots: Self.limits)
        let tablet = try await stage.device("tablet")
        func insert(_ numbers: Range<Int>) async throws {
            try tablet.edit { context in
                for number in numbers { context.insert("Post", ["title": "\(number)", "content": "text of \(number)"]) }
            }
            try await tablet.container.sync(timeout: .seconds(600))
        }
        try await insert(0..<170)
        try await stage.write(["CD_content": Field(.bytes([3, 1, 4]), isEncrypted: true)], to: "0")
        try await insert(170..<300)
        try await Self.build(stage.cloud, stage.client)
        let phone = try await stage.device("phone", configure: Self.stage(staging))
        try await phone.container.sync(timeout: .seconds(600))
        let contents = try phone.read { context in
            try context.all("Post").compactMap { $0.value(forKey: "content") as? String }.sorted()
        }
        #expect(contents == (1..<300).map { "text of \($0)" }.sorted())
        #expect(try phone.unreadable == ["content damaged"])
    }

    @Test func assetsOfASnapshotAreDownloaded() async throws {
        let (cloud, tablet) = try await Self.start(isBuilt: false)
        try tablet.edit { context in
            for number in 1...3 { context.insert("ImageData", ["data": Data(repeating: UInt8(number), count: 800_000)]) }
        }
        try await tablet.container.sync(timeout: .seconds(600))
        try await Self.build(cloud, tablet)
        let (phone, wire) = try await Self.addPhone(cloud) { number, _, bytes in
            // One was replaced and one deleted since the snapshot.
            if number == 1 {
                try tablet.edit { context in
                    let images = try context.all("ImageData")
                    images[0].setValue(Data(repeating: 9, count: 900_000), forKey: "data")
                    context.delete(images[1])
                }
                try await tablet.container.sync(timeout: .seconds(600))
            }
            return .bytes(bytes)
        }
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(wire.requests.count == 1)
    }

    // MARK: Bad answers

    enum Damage: String, CaseIterable {
        case missing, damaged, truncatedHead, hugeLength, endless, empty, otherFrame
    }

    /// Change pages continue from the last good frame, whatever the rest is.
    @Test(arguments: Damage.allCases, [1, 3]) func changePagesContinueWhereASnapshotCannot(damage: Damage, request: Int) async throws {
        let (cloud, tablet) = try await Self.start()
        let (phone, wire) = try await Self.addPhone(cloud) { number, offset, bytes in
            var frame = SnapshotWire.firstFrame(bytes)
            guard number >= request else { return .bytes(frame) }
            switch damage {
            case .missing: return .refuse(status: 404, WireError(.notFound, "there is no such snapshot"))
            case .damaged: frame[SnapshotFrame.headBytes + 40] ^= 1
            case .truncatedHead: frame = Array(frame.prefix(10))
            case .hugeLength: frame.replaceSubrange(0..<4, with: [255, 255, 255, 255])
            case .endless: return .endless
            case .empty: frame = []
            // A whole frame, of another place.
            case .otherFrame: frame = Array(bytes.dropFirst(frame.count - 20))
            }
            return .bytes(frame)
        }
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(wire.requests.count <= request + 1)
        #expect(phone.transport.log.filter { $0 == "changes/zone" }.count > 2)
    }

    enum Forgery: CaseIterable {
        case noRecord, deletedRecord, otherZone, hiddenAsset

        /// - Returns: The body of a frame.
        func body(_ received: ZoneChanges) -> [UInt8] {
            var page = received
            switch self {
            case .noRecord:
                let text = String(decoding: ZoneChangesResult.changes(page).encoded(), as: UTF8.self)
                return Array(text.replacing(#""recordType":"#, with: #""recordType":7,"type":"#).utf8)
            // The type of an asset may be left out.
            case .hiddenAsset:
                let text = String(decoding: ZoneChangesResult.changes(page).encoded(), as: UTF8.self)
                let asset = #""fields":{"CD_extra":{"value":{"fileChecksum":"AQID","size":3}},"#
                return Array(text.replacing(#""fields":{"#, with: asset).utf8)
            case .deletedRecord: page.records[3] = Record(recordName: page.records[3].recordName, recordType: "", isDeleted: true)
            case .otherZone: page.zoneID = ZoneID(zoneName: "other")
            }
            return ZoneChangesResult.changes(page).encoded()
        }
    }

    /// Digests are right, so that the frame is staged before it is decoded. The second time, it is decoded as it arrives.
    @Test(arguments: Forgery.allCases, [4_000_000, 0]) func aFrameThatIsNoPageOfTheZoneIsNotUsed(forgery: Forgery, staging: Int)
        async throws
    {
        let (cloud, tablet) = try await Self.start()
        let (phone, wire) = try await Self.addPhone(cloud, staging: staging) { _, offset, bytes in
            guard offset == 0 else { return .bytes(bytes) }
            var bodies = SnapshotWire.bodies(bytes)
            guard case .changes(let page)? = try? ZoneChangesResult(json: bodies[4]) else { return .fail(Self.lost) }
            bodies[4] = forgery.body(page)
            return .bytes(SnapshotWire.frames(bodies))
        }
        let views = Views(of: phone, Self.posts)
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(views.all.filter { $0 != "0" } == ["150"])
        #expect(wire.requests.count { $0 == 0 } == (staging == 0 ? 2 : 1))
    }

    @Test func aServerThatWasRestoredDuringTheReadIsReadAnew() async throws {
        let (cloud, tablet) = try await Self.start()
        let transport = try await cloud.addDevice("phone", of: "mia")
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await cloud.backUp(to: backup)
        let (phone, _) = try await Self.addPhone(cloud, over: transport) { number, _, bytes in
            if number == 2 {
                try await cloud.restore(from: backup)
                return .fail(Self.lost)
            }
            return .bytes(SnapshotWire.firstFrame(bytes))
        }
        tablet.timers.runFreely(upTo: 60)
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(try phone.read { try $0.all("Post").count } == 150)
    }

    // MARK: Positions

    private static func offer(_ change: (inout SnapshotOffer) -> Void = { _ in }) -> SnapshotOffer {
        var offer = SnapshotOffer(
            identifier: String(repeating: "a", count: 32),
            whole: SnapshotOffer.Whole(byteCount: 5000, recordCount: 3, digest: [UInt8](repeating: 7, count: 32), syncToken: "01ab"))
        change(&offer)
        return offer
    }

    @Test(arguments: [true, false]) func aPositionIsReadAsItWasWritten(isWhole: Bool) throws {
        var position = try #require(SnapshotPosition(Self.offer { if !isWhole { $0.whole = nil } }))
        #expect(SnapshotPosition(position.text) == position)
        (position.offset, position.recordsRead, position.syncToken) = (4999, 12, "01ab")
        #expect(SnapshotPosition(position.text) == position)
        for text: String? in [nil, "", "01ab", position.text + " ", "feed 01ab"] { #expect(SnapshotPosition(text) == nil) }
        #expect((SnapshotPosition(position.text.replacing("4999", with: "5000")) == nil) == isWhole)
    }

    @Test func anOfferThatCannotBeReadIsNoPosition() {
        #expect(SnapshotPosition(Self.offer()) != nil)
        let changes: [(inout SnapshotOffer) -> Void] = [
            { $0.identifier = "../../etc/passwd" }, { $0.whole?.byteCount = 0 }, { $0.whole?.byteCount = .max }, { $0.whole?.digest = [] },
        ]
        for change in changes { #expect(SnapshotPosition(Self.offer(change)) == nil) }
    }
}
