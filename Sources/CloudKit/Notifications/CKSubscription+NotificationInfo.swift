// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKSubscription {
    /// The type of a subscription's notification settings.
    public typealias NotificationInfo = CKNotificationInfo
}

/// How a notification appears.
///
/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
///
/// Source: Apple's documentation of `CKSubscription.NotificationInfo`.
public final class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: mutable state is behind a lock.
    private let stored: Locked<NotificationWish>

    /// Creates settings without an alert.
    public override convenience init() { self.init(NotificationWish()) }

    /// Creates settings.
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

    /// Creates the settings from the server or an archive. `nil` if they are empty.
    convenience init?(nonEmpty wish: NotificationWish) {
        guard wish != NotificationWish() else { return nil }
        self.init(wish)
    }

    var wire: NotificationWish { stored.value }

    /// A setting behind the lock.
    private subscript<Value>(setting: any WritableKeyPath<NotificationWish, Value> & Sendable) -> Value {
        get { stored.value[keyPath: setting] }
        set { stored.update { $0[keyPath: setting] = newValue } }
    }

    /// The text of the alert.
    public var alertBody: String? {
        get { self[\.alertBody] }
        set { self[\.alertBody] = newValue }
    }
    /// The key of the alert's text in the app's localization.
    public var alertLocalizationKey: String? {
        get { self[\.alertLocalizationKey] }
        set { self[\.alertLocalizationKey] = newValue }
    }
    /// The fields that give the arguments of the localized text.
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { self[\.alertLocalizationArgs] }
        set { self[\.alertLocalizationArgs] = newValue }
    }
    /// The title of the alert.
    public var title: String? {
        get { self[\.title] }
        set { self[\.title] = newValue }
    }
    /// The key of the title in the app's localization.
    public var titleLocalizationKey: String? {
        get { self[\.titleLocalizationKey] }
        set { self[\.titleLocalizationKey] = newValue }
    }
    /// The fields that give the arguments of the localized title.
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { self[\.titleLocalizationArgs] }
        set { self[\.titleLocalizationArgs] = newValue }
    }
    /// The subtitle of the alert.
    public var subtitle: String? {
        get { self[\.subtitle] }
        set { self[\.subtitle] = newValue }
    }
    /// The key of the subtitle in the app's localization.
    public var subtitleLocalizationKey: String? {
        get { self[\.subtitleLocalizationKey] }
        set { self[\.subtitleLocalizationKey] = newValue }
    }
    /// The fields that give the arguments of the localized subtitle.
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { self[\.subtitleLocalizationArgs] }
        set { self[\.subtitleLocalizationArgs] = newValue }
    }
    /// The key of the action button's title in the app's localization.
    public var alertActionLocalizationKey: String? {
        get { self[\.alertActionLocalizationKey] }
        set { self[\.alertActionLocalizationKey] = newValue }
    }
    /// The image of the launch screen.
    public var alertLaunchImage: String? {
        get { self[\.alertLaunchImage] }
        set { self[\.alertLaunchImage] = newValue }
    }
    /// The sound of the alert.
    public var soundName: String? {
        get { self[\.soundName] }
        set { self[\.soundName] = newValue }
    }
    /// The category of the alert's actions.
    public var category: String? {
        get { self[\.category] }
        set { self[\.category] = newValue }
    }
    /// The key by which later notifications replace earlier ones.
    public var collapseIDKey: String? {
        get { self[\.collapseIDKey] }
        set { self[\.collapseIDKey] = newValue }
    }
    /// Whether the notification increments the number on the app's icon.
    public var shouldBadge: Bool {
        get { self[\.shouldBadge] }
        set { self[\.shouldBadge] = newValue }
    }
    /// Whether the notification wakes the app without an alert.
    public var shouldSendContentAvailable: Bool {
        get { self[\.shouldSendContentAvailable] }
        set { self[\.shouldSendContentAvailable] = newValue }
    }
    /// Whether an app extension may change the notification.
    public var shouldSendMutableContent: Bool {
        get { self[\.shouldSendMutableContent] }
        set { self[\.shouldSendMutableContent] = newValue }
    }
    /// The fields to send in the notification; at most three.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { self[\.additionalFields] }
        set { self[\.additionalFields] = newValue }
    }

    /// Returns an independent copy.
    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(stored.value) }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes archived settings. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        guard let data = coder.decodeObject(of: NSData.self, forKey: "wish"),
            let wish = try? NotificationWish(json: Array(Data(referencing: data)))
        else { return nil }
        self.init(wish)
    }

    /// Encodes the settings.
    public func encode(with coder: NSCoder) {
        coder.encode(NSData(data: Data(stored.value.encoded())), forKey: "wish")
    }
}
