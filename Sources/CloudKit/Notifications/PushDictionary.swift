// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// The dictionary of a push, with the CloudKit part decoded.
struct PushDictionary {
    let ck: [String: Any]
    let alert: PushAlert

    init?(_ dictionary: [AnyHashable: Any]) {
        guard let ck = Self.plain(dictionary["ck"]) else { return nil }
        self.ck = ck
        alert = PushAlert(Self.plain(dictionary["aps"]) ?? [:])
    }

    func text(_ key: String) -> String? { ck[key] as? String }
    func part(_ key: String) -> [String: Any]? { Self.plain(ck[key]) }
    var subject: [String: Any]? { part("qry") ?? part("fet") ?? part("met") }

    static func plain(_ value: Any?) -> [String: Any]? {
        if let dictionary = value as? [String: Any] { return dictionary }
        guard let dictionary = value as? [AnyHashable: Any] else { return nil }
        return Dictionary(
            dictionary.compactMap { key, value in (key.base as? String).map { ($0, value) } },
            uniquingKeysWith: { first, _ in first })
    }

    static func number(_ value: Any?) -> Int? { (value as? NSNumber)?.intValue ?? value as? Int }

    static func scope(_ part: [String: Any]) -> CKDatabase.Scope {
        number(part["dbs"]).flatMap { CKDatabase.Scope(rawValue: $0) } ?? .private
    }

    static func zoneID(_ part: [String: Any], _ scope: CKDatabase.Scope) -> CKRecordZone.ID? {
        guard let name = part["zid"] as? String else { return nil }
        return CKRecordZone.ID(ZoneID(zoneName: name, ownerRecordName: part["zoid"] as? String), scope: scope)
    }
}

/// The alert of a push, from its key `aps`.
struct PushAlert: Hashable, Sendable {
    var body: String?
    var localizationKey: String?
    var localizationArguments: [String]?
    var title: String?
    var titleLocalizationKey: String?
    var titleLocalizationArguments: [String]?
    var subtitle: String?
    var subtitleLocalizationKey: String?
    var subtitleLocalizationArguments: [String]?
    var actionLocalizationKey: String?
    var launchImage: String?
    var badge: Int?
    var sound: String?
    var category: String?

    init(_ aps: [String: Any]) {
        badge = PushDictionary.number(aps["badge"])
        sound = aps["sound"] as? String
        category = aps["category"] as? String
        body = aps["alert"] as? String
        guard let alert = PushDictionary.plain(aps["alert"]) else { return }
        body = alert["body"] as? String
        localizationKey = alert["loc-key"] as? String
        localizationArguments = alert["loc-args"] as? [String]
        title = alert["title"] as? String
        titleLocalizationKey = alert["title-loc-key"] as? String
        titleLocalizationArguments = alert["title-loc-args"] as? [String]
        subtitle = alert["subtitle"] as? String
        subtitleLocalizationKey = alert["subtitle-loc-key"] as? String
        subtitleLocalizationArguments = alert["subtitle-loc-args"] as? [String]
        actionLocalizationKey = alert["action-loc-key"] as? String
        launchImage = alert["launch-image"] as? String
    }
}
