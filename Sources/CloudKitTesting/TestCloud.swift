// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import Synchronization

/// A whole cloud inside a test: the real service, as many accounts and devices as wanted, and no network.
///
///     let cloud = try TestCloud()
///     let phone = try await cloud.device("phone", account: "mia")
///     let tablet = try await cloud.device("tablet", account: "mia")
///     try await phone.container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
///     tablet.fail(.unreachable)
///     print(try await cloud.picture())
///
/// Identifiers and dates are the same in every run. The data goes with the object.
public final class TestCloud: Sendable {
    public let containerIdentifier: String
    public let clock: TestClock
    let engine: InProcessCloud
    /// What devices keep on their disks.
    private let folder = ScratchFolder("tarn-devices")
    private let state = Mutex(State())

    private struct State {
        var accounts: [String] = []
        /// Names only: a device holds its cloud.
        var devices: Set<String> = []
    }

    /// - Parameter seed: Decides record names of users and identifiers that the server makes.
    public init(containerIdentifier: String = "iCloud.org.example.test", seed: UInt64 = 1) throws {
        self.containerIdentifier = containerIdentifier
        engine = try InProcessCloud(seed: seed)
        clock = TestClock(engine.clock)
    }

    /// Where a device keeps long-lived operations of an account. Names may be any texts, which those of folders may not.
    func folder(of device: String, _ account: String) -> URL {
        let name = Data("\(device.utf8.count) \(device) \(account)".utf8).map { String($0, radix: 36) }.joined(separator: "-")
        return folder.url.appendingPathComponent(String(name.prefix(200)))
    }

    /// A device, signed in to an account, which is made if it is not there.
    ///
    /// - Parameters:
    ///   - name: Of its own in this cloud.
    ///   - account: Nil leaves the device signed out.
    public func device(_ name: String, account: String? = "user") async throws -> TestDevice {
        guard state.withLock({ $0.devices.insert(name).inserted }) else {
            throw CKError(.invalidArguments, "there is a device \(name) already")
        }
        let device = TestDevice(name, in: self)
        if let account { try await device.signIn(to: account) }
        return device
    }

    /// By which others find an account: its name at example.org.
    public static func emailAddress(of account: String) -> String { account + "@example.org" }

    /// Accounts in the order in which they were made.
    public var accounts: [String] { state.withLock { $0.accounts } }

    /// Puts a schema, in the schema language, in place of the one that the saved records made: for indexes of system
    /// fields, or to see that an app works with what is deployed.
    ///
    /// - Throws: A description of the place and what is wrong with it; then nothing changed.
    public func importSchema(_ text: String) async throws {
        try await engine.importSchema(text, into: containerIdentifier)
    }

    /// Ends the server: devices find nobody until `start`, and their held connections end.
    public func stop() throws { try engine.stop() }

    /// Starts the server again on the same data.
    public func start() throws { try engine.start() }

    /// The way of a device on which nobody is signed in: the public database can be read.
    func visitorTransport(of device: String) -> FaultyTransport {
        FaultyTransport(engine.addVisitor(device: device), clock, containerIdentifier: containerIdentifier)
    }

    func transport(of device: String, account: String) async throws -> InProcessTransport {
        let isNew = state.withLock { state in
            guard !state.accounts.contains(account) else { return false }
            state.accounts.append(account)
            return true
        }
        if isNew {
            let transport = try await engine.addUser(account, device: device)
            try await engine.introduce(account, givenName: account, emailAddress: Self.emailAddress(of: account))
            return transport
        }
        return try await engine.addDevice(device, of: account)
    }
}
