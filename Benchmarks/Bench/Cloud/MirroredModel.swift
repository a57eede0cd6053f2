// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation

/// Posts with pictures, and films, in a container that is mirrored.
enum MirroredModel {
    static let model: NSManagedObjectModel = {
        func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
            let attribute = NSAttributeDescription()
            attribute.name = name
            attribute.attributeType = type
            attribute.isOptional = true
            return attribute
        }
        let post = NSEntityDescription()
        post.name = "Post"
        let picture = NSEntityDescription()
        picture.name = "Picture"
        let data = attribute("data", .binaryDataAttributeType)
        data.allowsExternalBinaryDataStorage = true
        let pictures = NSRelationshipDescription()
        pictures.name = "pictures"
        pictures.destinationEntity = picture
        pictures.isOptional = true
        let owner = NSRelationshipDescription()
        owner.name = "post"
        owner.destinationEntity = post
        owner.maxCount = 1
        owner.isOptional = true
        owner.inverseRelationship = pictures
        pictures.inverseRelationship = owner
        post.properties = [
            attribute("title", .stringAttributeType), attribute("content", .stringAttributeType),
            attribute("timestamp", .dateAttributeType), attribute("uuid", .UUIDAttributeType), pictures,
        ]
        picture.properties = [attribute("name", .stringAttributeType), data, owner]
        let film = NSEntityDescription()
        film.name = "Film"
        let plain = attribute("plain", .binaryDataAttributeType), sealed = attribute("sealed", .binaryDataAttributeType)
        for data in [plain, sealed] { data.allowsExternalBinaryDataStorage = true }
        sealed.allowsCloudEncryption = true
        film.properties = [plain, sealed]
        let model = NSManagedObjectModel()
        model.entities = [post, picture, film]
        return model
    }()

    /// Posts alone.
    static let publicModel: NSManagedObjectModel = {
        let title = NSAttributeDescription()
        title.name = "title"
        title.attributeType = .stringAttributeType
        title.isOptional = true
        let post = NSEntityDescription()
        post.name = "Post"
        post.properties = [title]
        let model = NSManagedObjectModel()
        model.entities = [post]
        return model
    }()

    /// - Throws: The error with which the store could not be opened.
    static func container(in folder: URL, isPublic: Bool = false) throws -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: isPublic ? publicModel : model)
        let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Posts.sqlite"))
        let options = NSPersistentCloudKitContainerOptions(containerIdentifier: TarnServer.container)
        options.databaseScope = isPublic ? .public : .private
        options.encryptionKeys = try .text("tarn-key-1:" + Data(repeating: 7, count: 32).base64EncodedString())
        description.cloudKitContainerOptions = options
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        container.viewContext.automaticallyMergesChangesFromParent = true
        return container
    }

    static func insertPosts(_ rows: Range<Int>, into context: NSManagedObjectContext) {
        for index in rows {
            let (title, content, timestamp) = CloudRows.fields(index)
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            post.setValue(title, forKey: "title")
            post.setValue(content + content, forKey: "content")
            post.setValue(Date(timeIntervalSince1970: Double(timestamp) / 1000), forKey: "timestamp")
            post.setValue(UUID(), forKey: "uuid")
        }
    }

    static func insertPictures(posts: Int, each: Int, bytes: Int, into context: NSManagedObjectContext) {
        for number in 0..<posts {
            let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: context)
            post.setValue("Post \(number)", forKey: "title")
            for index in 0..<each {
                let picture = NSEntityDescription.insertNewObject(forEntityName: "Picture", into: context)
                var state = UInt64(number * each + index)
                let words = (0..<bytes / 8).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return state
                }
                picture.setValue("Picture \(index)", forKey: "name")
                picture.setValue(words.withUnsafeBytes { Data($0) }, forKey: "data")
                picture.setValue(post, forKey: "post")
            }
        }
    }

    /// Nanoseconds of the machine's clock, the same in every program.
    static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
