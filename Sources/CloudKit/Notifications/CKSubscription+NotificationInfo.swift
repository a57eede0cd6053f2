// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKSubscription {
    public typealias NotificationInfo = CKNotificationInfo
}

/// How a notification shows itself.
///
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
///
/// Source: Apple's documentation of `CKSubscription.NotificationInfo`.
public final class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: all that changes is behind a lock.
    private let stored: Locked<NotificationWish>

    public override convenience init() { self.init(NotificationWish()) }

    public convenience init(
        alertBody: String? = nil, alertLocalizationKey: String? = nil, alertLocalizationArgs: [CKRecord.FieldKey] = [],
        title: String? = nil, titleLocalizationKey: String? = nil, titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil, subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [], alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil, soundName: String? = nil, desiredKeys: [CKRecord.FieldKey] = [],
        shouldBadge: Bool = false, shouldSendContentAvailable: Bool = false, shouldSendMutableContent: Bool = false,
        category: String? = nil, collapseIDKey: String? = nil
    ) {
        self.init()
        self.alertBody = alertBody
        self.alertLocalizationKey = alertLocalizationKey
        self.alertLocalizationArgs = alertLocalizationArgs.isEmpty ? nil : alertLocalizationArgs
        self.title = title
        self.titleLocalizationKey = titleLocalizationKey
        self.titleLocalizationArgs = titleLocalizationArgs.isEmpty ? nil : titleLocalizationArgs
        self.subtitle = subtitle
        self.subtitleLocalizationKey = subtitleLocalizationKey
        self.subtitleLocalizationArgs = subtitleLocalizationArgs.isEmpty ? nil : subtitleLocalizationArgs
        self.alertActionLocalizationKey = alertActionLocalizationKey
        self.alertLaunchImage = alertLaunchImage
        self.soundName = soundName
        self.desiredKeys = desiredKeys.isEmpty ? nil : desiredKeys
        self.shouldBadge = shouldBadge
        self.shouldSendContentAvailable = shouldSendContentAvailable
        self.shouldSendMutableContent = shouldSendMutableContent
        self.category = category
        self.collapseIDKey = collapseIDKey
    }

    init(_ wish: NotificationWish) { stored = Locked(wish) }

    /// What the server or an archive has; nil if nothing was wished for.
    convenience init?(kept wish: NotificationWish) {
        guard wish != NotificationWish() else { return nil }
        self.init(wish)
    }

    var wire: NotificationWish { stored.value }

    public var alertBody: String? {
        get { stored.value.alertBody }
        set { stored.update { $0.alertBody = newValue } }
    }
    public var alertLocalizationKey: String? {
        get { stored.value.alertLocalizationKey }
        set { stored.update { $0.alertLocalizationKey = newValue } }
    }
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { stored.value.alertLocalizationArgs }
        set { stored.update { $0.alertLocalizationArgs = newValue } }
    }
    public var title: String? {
        get { stored.value.title }
        set { stored.update { $0.title = newValue } }
    }
    public var titleLocalizationKey: String? {
        get { stored.value.titleLocalizationKey }
        set { stored.update { $0.titleLocalizationKey = newValue } }
    }
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { stored.value.titleLocalizationArgs }
        set { stored.update { $0.titleLocalizationArgs = newValue } }
    }
    public var subtitle: String? {
        get { stored.value.subtitle }
        set { stored.update { $0.subtitle = newValue } }
    }
    public var subtitleLocalizationKey: String? {
        get { stored.value.subtitleLocalizationKey }
        set { stored.update { $0.subtitleLocalizationKey = newValue } }
    }
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { stored.value.subtitleLocalizationArgs }
        set { stored.update { $0.subtitleLocalizationArgs = newValue } }
    }
    public var alertActionLocalizationKey: String? {
        get { stored.value.alertActionLocalizationKey }
        set { stored.update { $0.alertActionLocalizationKey = newValue } }
    }
    public var alertLaunchImage: String? {
        get { stored.value.alertLaunchImage }
        set { stored.update { $0.alertLaunchImage = newValue } }
    }
    public var soundName: String? {
        get { stored.value.soundName }
        set { stored.update { $0.soundName = newValue } }
    }
    public var category: String? {
        get { stored.value.category }
        set { stored.update { $0.category = newValue } }
    }
    public var collapseIDKey: String? {
        get { stored.value.collapseIDKey }
        set { stored.update { $0.collapseIDKey = newValue } }
    }
    public var shouldBadge: Bool {
        get { stored.value.shouldBadge }
        set { stored.update { $0.shouldBadge = newValue } }
    }
    public var shouldSendContentAvailable: Bool {
        get { stored.value.shouldSendContentAvailable }
        set { stored.update { $0.shouldSendContentAvailable = newValue } }
    }
    public var shouldSendMutableContent: Bool {
        get { stored.value.shouldSendMutableContent }
        set { stored.update { $0.shouldSendMutableContent = newValue } }
    }
    /// Fields to send along; at most three.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { stored.value.additionalFields }
        set { stored.update { $0.additionalFields = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(stored.value) }

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "wish"),
            let wish = try? NotificationWish(json: Array(Data(referencing: data)))
        else { return nil }
        self.init(wish)
    }

    public func encode(with coder: NSCoder) {
        coder.encode(NSData(data: Data(stored.value.encoded())), forKey: "wish")
    }
}
