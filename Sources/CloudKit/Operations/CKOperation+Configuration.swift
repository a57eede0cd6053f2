// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension CKOperation {
    /// How an operation is carried out.
    ///
    /// Source: Apple's documentation of `CKOperation.Configuration`. `allowsCellularAccess` has no effect here.
    public final class Configuration: NSObject, NSCopying, @unchecked Sendable {  // All that changes is behind a lock.
        private let stored: Locked<OperationSettings>

        public override convenience init() { self.init(OperationSettings()) }

        init(_ settings: OperationSettings) { stored = Locked(settings) }

        var settings: OperationSettings { stored.value }

        /// Whose database is meant where the operation names none.
        public var container: CKContainer? {
            get { stored.value.container }
            set { stored.update { $0.container = newValue } }
        }
        /// With `.utility` and `.background`, failures that pass are met by waiting and trying again until
        /// `timeoutIntervalForResource`; with all others they are the operation's error at once.
        public var qualityOfService: QualityOfService {
            get { stored.value.qualityOfService ?? .default }
            set { stored.update { $0.qualityOfService = newValue } }
        }
        public var allowsCellularAccess: Bool {
            get { stored.value.allowsCellularAccess }
            set { stored.update { $0.allowsCellularAccess = newValue } }
        }
        /// Whether the operation goes on in later processes of the app; see ``CKOperation``.
        public var isLongLived: Bool {
            get { stored.value.isLongLived }
            set { stored.update { $0.isLongLived = newValue } }
        }
        /// Seconds to wait for one answer.
        public var timeoutIntervalForRequest: TimeInterval {
            get { stored.value.timeoutForRequest ?? OperationSettings.requestSeconds }
            set { stored.update { $0.timeoutForRequest = newValue } }
        }
        /// Seconds that the whole operation may take, waits included.
        public var timeoutIntervalForResource: TimeInterval {
            get { stored.value.timeoutForResource ?? OperationSettings.resourceSeconds }
            set { stored.update { $0.timeoutForResource = newValue } }
        }

        public func copy(with zone: NSZone? = nil) -> Any { Configuration(stored.value) }
    }
}

/// The values of a configuration; what was not set is nil and left to the group, then to the default.
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
    /// Of one that is kept.
    var journal: JournalRun?

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

    /// Whether failures that pass are waited for.
    var isDiscretionary: Bool { qualityOfService == .utility || qualityOfService == .background }
}

/// Operations that belong together, for whoever looks at them in a log.
///
/// Source: Apple's documentation of `CKOperationGroup`. The expected sizes have no effect here.
public final class CKOperationGroup: NSObject, NSSecureCoding, @unchecked Sendable {
    // @unchecked: set up before its operations are started and only read afterwards.
    public enum TransferSize: Int, Sendable {
        case unknown = 0
        case kilobytes = 1
        case megabytes = 2
        case tensOfMegabytes = 3
        case hundredsOfMegabytes = 4
        case gigabytes = 5
        case tensOfGigabytes = 6
        case hundredsOfGigabytes = 7
    }

    public let operationGroupID: String
    /// Used for what the operations' own configurations do not set.
    /// Setting it takes a copy, and nil is a new one.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { configured }
        set { configured = newValue.map { CKOperation.Configuration($0.settings) } ?? CKOperation.Configuration() }
    }
    private var configured = CKOperation.Configuration()
    public var name: String?
    public var quantity = 0
    public var expectedSendSize = TransferSize.unknown
    public var expectedReceiveSize = TransferSize.unknown

    public override init() {
        operationGroupID = UUID().uuidString
    }

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let id = coder.decodeObject(of: NSString.self, forKey: "operationGroupID") else { return nil }
        operationGroupID = id as String
        super.init()
        name = coder.decodeObject(of: NSString.self, forKey: "name") as String?
        quantity = coder.decodeInteger(forKey: "quantity")
        expectedSendSize = TransferSize(rawValue: coder.decodeInteger(forKey: "sendSize")) ?? .unknown
        expectedReceiveSize = TransferSize(rawValue: coder.decodeInteger(forKey: "receiveSize")) ?? .unknown
    }

    public func encode(with coder: NSCoder) {
        coder.encode(operationGroupID as NSString, forKey: "operationGroupID")
        coder.encode(name.map { $0 as NSString }, forKey: "name")
        coder.encode(quantity, forKey: "quantity")
        coder.encode(expectedSendSize.rawValue, forKey: "sendSize")
        coder.encode(expectedReceiveSize.rawValue, forKey: "receiveSize")
    }
}
