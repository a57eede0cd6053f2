// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// Whether other users may find a user. The server's operator sets it for each account; an app can only read it.
///
/// Source: Apple's documentation of `CKContainer.ApplicationPermissions`, which is deprecated.
extension CKContainer {
    /// Permissions that an app may request from the user.
    public struct ApplicationPermissions: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt

        /// Creates a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Other users may find this user by address.
        public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
    }

    /// The state of a permission.
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The user was not asked yet. Never returned here.
        case initialState = 0
        /// The server could not be reached.
        case couldNotComplete = 1
        /// Other users cannot find this user.
        case denied = 2
        /// Other users can find this user.
        case granted = 3
    }

    /// A handler that receives the state of a permission.
    public typealias ApplicationPermissionBlock = @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void

    /// Names of the permission types as Apple's Swift overlay nests them.
    public enum Application {
        /// See `CKContainer.ApplicationPermissions`.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// See `CKContainer.ApplicationPermissionStatus`.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// See `CKContainer.ApplicationPermissionBlock`.
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }

    /// Fetches the state of a permission: `.granted` if the server lets others find the signed-in user.
    ///
    /// - Throws: ``CKError``, such as `.notAuthenticated` or `.networkUnavailable`.
    public func applicationPermissionStatus(
        for applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await userIdentity(forUserRecordID: userRecordID()) == nil ? .denied : .granted
    }

    /// Returns the same as ``applicationPermissionStatus(for:)``, since Linux has no prompt.
    ///
    /// - Throws: ``CKError``, as ``applicationPermissionStatus(for:)``.
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await applicationPermissionStatus(for: applicationPermission)
    }

    /// Fetches the state of a permission; completion-handler form of `applicationPermissionStatus(for:)`.
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler block: @escaping ApplicationPermissionBlock
    ) {
        complete({ status, error in block(status ?? .couldNotComplete, error) }) {
            try await self.applicationPermissionStatus(for: applicationPermission)
        }
    }

    /// Requests a permission; completion-handler form of `requestApplicationPermission(_:)`.
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions, completionHandler block: @escaping ApplicationPermissionBlock
    ) {
        status(forApplicationPermission: applicationPermission, completionHandler: block)
    }
}
