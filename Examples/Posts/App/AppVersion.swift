// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Versions of the app's model, which sync with each other.
enum AppVersion: Int, Sendable {
    /// The model file's: a post has a `title` and a `timestamp`.
    case first = 1
    /// A post has a `headline` and a `subtitle` instead of the title, and its time is `written`.
    case second = 2

    private static let separator = ", "
    private static let lens = "title -> headline subtitle by '\(separator)'"

    /// The attribute with the time of a post.
    var dateKey: String { self == .first ? "timestamp" : "written" }

    /// Returns this version of the model.
    ///
    /// - Parameter first: The first version, which stays as it is.
    /// - Throws: ``CommandProblem`` for a model without posts.
    func model(from first: NSManagedObjectModel) throws -> NSManagedObjectModel {
        if self == .first { return first }
        guard let model = first.copy() as? NSManagedObjectModel, let post = model.entitiesByName["Post"],
            let date = post.attributesByName["timestamp"]
        else { throw CommandProblem("The model of the app has no posts: build the program again.") }
        // On the server, the field keeps its first name.
        date.name = dateKey
        date.renamingIdentifier = "timestamp"
        // `title` stays in the model for devices with the first version. The app reads and writes the two later attributes alone.
        post.userInfo = ["syncLens": Self.lens]
        for name in ["headline", "subtitle"] {
            let attribute = NSAttributeDescription()
            attribute.name = name
            attribute.attributeType = .stringAttributeType
            attribute.isOptional = true
            post.properties.append(attribute)
        }
        return model
    }

    /// The introduction on the page of a device; nil for the first version.
    var introduction: String? {
        if self == .first { return nil }
        return "Version 2 of the app: headline and subtitle instead of a title. A lens translates, and both versions sync."
    }

    /// Returns a sentence about the lens's last translation of a post; nil if it translated nothing.
    ///
    /// - Parameters:
    ///   - former: The post before the change; nil for a new one.
    ///   - isImported: Whether another device changed the post.
    func lensReport(on post: PostMessage, since former: PostMessage?, isImported: Bool) -> String? {
        guard self == .second, let subtitle = post.subtitle, post.title != former?.title ?? "" || subtitle != former?.subtitle ?? "" else {
            return nil
        }
        let title = [post.title, subtitle].filter { !$0.isEmpty }.joined(separator: Self.separator)
        guard isImported else { return "The lens joined headline and subtitle: version 1 shows the title “\(title)”." }
        return subtitle.isEmpty
            ? "The lens read the title “\(title)” of version 1 as the headline."
            : "The lens split the title “\(title)” of version 1 into “\(post.title)” and “\(subtitle)”."
    }
}

extension Post {
    private var isOfSecondVersion: Bool { entity.attributesByName["headline"] != nil }

    /// The title, or in version 2 the headline.
    var heading: String? {
        get { isOfSecondVersion ? value(forKey: "headline") as? String : title }
        set { if isOfSecondVersion { setValue(newValue, forKey: "headline") } else { title = newValue } }
    }

    /// The text below the headline; nil in version 1, which has none.
    var subtitle: String? {
        get { isOfSecondVersion ? value(forKey: "subtitle") as? String ?? "" : nil }
        set { if isOfSecondVersion { setValue(newValue, forKey: "subtitle") } }
    }

    /// When the post was written.
    var date: Date? {
        get { isOfSecondVersion ? value(forKey: AppVersion.second.dateKey) as? Date : timestamp }
        set { if isOfSecondVersion { setValue(newValue, forKey: AppVersion.second.dateKey) } else { timestamp = newValue } }
    }
}
