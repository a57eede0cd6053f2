// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Foundation
import Synchronization

/// A whole cloud inside a test: the real service with any number of accounts and devices, without a network.
///
///     let cloud = try TestCloud()
///     let phone = try await cloud.device("phone", account: "mia")
///     let tablet = try await cloud.device("tablet", account: "mia")
///     try await phone.container.privateCloudDatabase.save(CKRecord(recordType: "Note"))
///     tablet.fail(.unreachable)
///     print(try await cloud.picture())
///
/// Identifiers and dates are the same in every run. The data are removed with the object.
public final class TestCloud: Sendable {
    /// The identifier of the container.
    public let containerIdentifier: String
    /// The clock of the server and of all devices.
    public let clock: TestClock
    let engine: InProcessCloud
    /// The local files of the devices.
    private let folder = ScratchFolder("tarn-devices")
    private let state = Mutex(State())

    private struct State {
        var accounts: [String] = []
        /// Names only, since a device holds its cloud.
        var devices: Set<String> = []
    }

    /// Creates a cloud with an empty container.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The identifier of the container.
    ///   - seed: Determines the users' record names and the identifiers that the server assigns.
    /// - Throws: The error of the file system if the server's data folder cannot be created.
    public init(containerIdentifier: String = "iCloud.org.example.test", seed: UInt64 = 1) throws {
        self.containerIdentifier = containerIdentifier
        engine = try InProcessCloud(seed: seed)
        clock = TestClock(engine.clock)
    }

    /// The folder for a device's long-lived operations of an account. Names may be any texts, unlike names of folders.
    func folder(of device: String, _ account: String) -> URL {
        let name = Data("\(device.utf8.count) \(device) \(account)".utf8).map { String($0, radix: 36) }.joined(separator: "-")
        return folder.url.appendingPathComponent(String(name.prefix(200)))
    }

    /// Creates a device that is signed in to an account. A new account is created.
    ///
    /// - Parameters:
    ///   - name: Unique in this cloud.
    ///   - account: `nil` leaves the device signed out.
    /// - Throws: `CKError` with `.invalidArguments` if the name is in use.
    public func device(_ name: String, account: String? = "user") async throws -> TestDevice {
        guard state.withLock({ $0.devices.insert(name).inserted }) else {
            throw CKError(.invalidArguments, "a device \(name) exists already")
        }
        let device = TestDevice(name, in: self)
        if let account { try await device.signIn(to: account) }
        return device
    }

    /// The address by which other users find an account: its name at example.org.
    public static func emailAddress(of account: String) -> String { account + "@example.org" }

    /// The accounts in the order of their creation.
    public var accounts: [String] { state.withLock { $0.accounts } }

    /// Replaces the schema that was inferred from saved records by one in the schema language: to index system fields,
    /// or to test an app with the deployed schema.
    ///
    /// - Throws: The position and the reason of an error. Nothing changes then.
    public func importSchema(_ text: String) async throws {
        try await engine.importSchema(text, into: containerIdentifier)
    }

    /// Stops the server: requests fail until `start`, and open connections end.
    ///
    /// - Throws: The error of the file system when the database is closed.
    public func stop() throws { try engine.stop() }

    /// Starts the server again on the same data.
    ///
    /// - Throws: The error of the file system when the database is opened.
    public func start() throws { try engine.start() }

    /// The transport of a device without a signed-in user: the public database is readable.
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
