// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// Whether a user may be found by others. Here the server's operator says so for each account; an app can only ask.
///
/// Source: Apple's documentation of `CKContainer.ApplicationPermissions`, which is deprecated.
extension CKContainer {
    public struct ApplicationPermissions: OptionSet, Hashable, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
    }

    public enum ApplicationPermissionStatus: Int, Sendable {
        case initialState = 0
        case couldNotComplete = 1
        case denied = 2
        case granted = 3
    }

    public typealias ApplicationPermissionBlock = @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void

    public enum Application {
        public typealias Permissions = CKContainer.ApplicationPermissions
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }

    /// Granted if the server lets others find the user who is signed in.
    public func applicationPermissionStatus(
        for applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await userIdentity(forUserRecordID: userRecordID()) == nil ? .denied : .granted
    }

    /// As ``applicationPermissionStatus(for:)``: nobody is asked.
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await applicationPermissionStatus(for: applicationPermission)
    }

    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler block: @escaping ApplicationPermissionBlock
    ) {
        answer({ status, error in block(status ?? .couldNotComplete, error) }) {
            try await self.applicationPermissionStatus(for: applicationPermission)
        }
    }

    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions, completionHandler block: @escaping ApplicationPermissionBlock
    ) {
        status(forApplicationPermission: applicationPermission, completionHandler: block)
    }
}
