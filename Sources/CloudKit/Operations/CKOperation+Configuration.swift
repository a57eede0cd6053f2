// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension CKOperation {
    /// How an operation runs.
    ///
    /// Source: Apple's documentation of `CKOperation.Configuration`. `allowsCellularAccess` has no effect here.
    public final class Configuration: NSObject, NSCopying, @unchecked Sendable {  // All that changes is behind a lock.
        private let stored: Locked<OperationSettings>

        /// Creates an instance with default values.
        public override convenience init() { self.init(OperationSettings()) }

        init(_ settings: OperationSettings) { stored = Locked(settings) }

        var settings: OperationSettings { stored.value }

        /// The container of the operation, if the operation names no database.
        public var container: CKContainer? {
            get { stored.value.container }
            set { stored.update { $0.container = newValue } }
        }
        /// The priority. With `.utility` and `.background`, transient failures are retried until
        /// `timeoutIntervalForResource` ends. With all others they end the operation.
        public var qualityOfService: QualityOfService {
            get { stored.value.qualityOfService ?? .default }
            set { stored.update { $0.qualityOfService = newValue } }
        }
        /// Whether cellular networks may be used. Has no effect.
        public var allowsCellularAccess: Bool {
            get { stored.value.allowsCellularAccess }
            set { stored.update { $0.allowsCellularAccess = newValue } }
        }
        /// Whether the operation continues in later processes of the app; see ``CKOperation``.
        public var isLongLived: Bool {
            get { stored.value.isLongLived }
            set { stored.update { $0.isLongLived = newValue } }
        }
        /// Timeout of one response, in seconds.
        public var timeoutIntervalForRequest: TimeInterval {
            get { stored.value.timeoutForRequest ?? OperationSettings.requestSeconds }
            set { stored.update { $0.timeoutForRequest = newValue } }
        }
        /// Timeout of the whole operation with its retries, in seconds.
        public var timeoutIntervalForResource: TimeInterval {
            get { stored.value.timeoutForResource ?? OperationSettings.resourceSeconds }
            set { stored.update { $0.timeoutForResource = newValue } }
        }

        /// Returns an independent copy.
        public func copy(with zone: NSZone? = nil) -> Any { Configuration(stored.value) }
    }
}

/// The values of a configuration. A value that is `nil` is taken from the group, then from the default.
struct OperationSettings: Sendable {
    static let requestSeconds: TimeInterval = 60
    static let resourceSeconds: TimeInterval = 7 * 24 * 3600

    var container: CKContainer?
    var qualityOfService: QualityOfService?
    var allowsCellularAccess = true
    var isLongLived = false
    var timeoutForRequest: TimeInterval?
    var timeoutForResource: TimeInterval?
    var groupID: String?
    /// The journal of a persisted operation.
    var journal: JournaledExecution?

    init() {}

    init(_ configuration: CKOperation.Configuration?, under group: CKOperationGroup?) {
        self = configuration?.settings ?? OperationSettings()
        fill(from: group?.defaultConfiguration?.settings)
        groupID = group?.operationGroupID
    }

    mutating func fill(from other: OperationSettings?) {
        guard let other else { return }
        container = container ?? other.container
        qualityOfService = qualityOfService ?? other.qualityOfService
        allowsCellularAccess = allowsCellularAccess && other.allowsCellularAccess
        isLongLived = isLongLived || other.isLongLived
        timeoutForRequest = timeoutForRequest ?? other.timeoutForRequest
        timeoutForResource = timeoutForResource ?? other.timeoutForResource
    }

    /// Whether transient failures are retried.
    var isDiscretionary: Bool { qualityOfService == .utility || qualityOfService == .background }
}

/// A group of operations, with a name for logs.
///
/// Source: Apple's documentation of `CKOperationGroup`. The expected sizes have no effect here.
public final class CKOperationGroup: NSObject, NSSecureCoding, @unchecked Sendable {
    // @unchecked: set before its operations start, and only read afterwards.
    /// Estimates of the number of bytes to transfer.
    public enum TransferSize: Int, Sendable {
        /// Unknown.
        case unknown = 0
        /// Kilobytes.
        case kilobytes = 1
        /// Megabytes.
        case megabytes = 2
        /// Tens of megabytes.
        case tensOfMegabytes = 3
        /// Hundreds of megabytes.
        case hundredsOfMegabytes = 4
        /// Gigabytes.
        case gigabytes = 5
        /// Tens of gigabytes.
        case tensOfGigabytes = 6
        /// Hundreds of gigabytes.
        case hundredsOfGigabytes = 7
    }

    /// The identifier of the group.
    public let operationGroupID: String
    /// The default configuration of the group's operations. The setter copies; `nil` resets it.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { configured }
        set { configured = newValue.map { CKOperation.Configuration($0.settings) } ?? CKOperation.Configuration() }
    }
    private var configured = CKOperation.Configuration()
    /// The name, for logs.
    public var name: String?
    /// The number of items, for logs.
    public var quantity = 0
    /// The number of bytes to send. Has no effect.
    public var expectedSendSize = TransferSize.unknown
    /// The number of bytes to receive. Has no effect.
    public var expectedReceiveSize = TransferSize.unknown

    /// Creates a group with a random identifier.
    public override init() {
        operationGroupID = UUID().uuidString
    }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived group. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let id = coder.decodeObject(of: NSString.self, forKey: "operationGroupID") else { return nil }
        operationGroupID = id as String
        super.init()
        name = coder.decodeObject(of: NSString.self, forKey: "name") as String?
        quantity = coder.decodeInteger(forKey: "quantity")
        expectedSendSize = TransferSize(rawValue: coder.decodeInteger(forKey: "sendSize")) ?? .unknown
        expectedReceiveSize = TransferSize(rawValue: coder.decodeInteger(forKey: "receiveSize")) ?? .unknown
    }

    /// Encodes the group.
    public func encode(with coder: NSCoder) {
        coder.encode(operationGroupID as NSString, forKey: "operationGroupID")
        coder.encode(name.map { $0 as NSString }, forKey: "name")
        coder.encode(quantity, forKey: "quantity")
        coder.encode(expectedSendSize.rawValue, forKey: "sendSize")
        coder.encode(expectedReceiveSize.rawValue, forKey: "receiveSize")
    }
}
