// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

/// Links of withheld objects that another device deletes. The value simulation found the case.
@Suite struct DeletedWithheldObjectTests {
    /// Posts with labels, which have unique names.
    private static let mapping: RecordMapping = {
        let post = Entity(
            name: "Post", attributes: [Attribute(name: "title", type: .string, isOptional: false)],
            relationships: [Relationship(name: "labels", destination: "Label", inverse: "posts", isToMany: true)])
        var label = Entity(
            name: "Label", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "posts", destination: "Post", inverse: "labels", isToMany: true)])
        label.uniquenessConstraints = [["name"]]
        do {
            return RecordMapping(
                model: try ResolvedModel(Model(entities: [post, label])), allowing: [.uniquenessConstraints, .requiredValues])
        } catch { preconditionFailure("the test model is valid: \(error)") }
    }()

    private func withheld(_ name: String, _ entity: String) -> Record {
        Record(
            recordName: name, recordType: "CD_\(entity)", recordChangeTag: "a",
            fields: [MirrorNames.entityNameField: Field(.string(entity))])
    }

    private var link: LinkState {
        let kind = LinkKind(entityNames: "Post:Label", relationships: "labels:posts")
        var link = LinkState(recordName: "link", pair: LinkPair(kind: kind, first: "post", second: "label"), stage: .uploaded)
        link.changeTag = "b"
        return link
    }

    /// Returns the stage of the link after the page; nil if the page leaves it alone.
    private func stage(
        deleting name: String, moreComing: Bool = false, isElsewhere: Bool = false, withheld: Record?, successors: [String: String] = [:]
    ) -> MirrorStage? {
        let page = ImportPage(records: [], deletions: [name], askedWith: "1", token: "2", moreComing: moreComing)
        var loaded = ImportPlan.Loaded()
        loaded.successors = successors
        loaded.findDeletedWithheld(in: page, mapping: Self.mapping, withheld: { $0 == name ? withheld : nil }) { _ in isElsewhere }
        if ImportNeeds(page, mapping: Self.mapping).details(loaded).linkEnds.contains(name) { loaded.links = [link] }
        return ImportPlan.make(page, loaded: loaded, mapping: Self.mapping).bookkeeping.links.first { $0.recordName == "link" }?.stage
    }

    /// The link was made before the post was withheld: it stayed on the server, and its label could be relocated to another zone.
    @Test func linksOfADeletedWithheldObjectAreDeleted() {
        #expect(stage(deleting: "post", withheld: withheld("post", "Post")) == .needsDelete)
        #expect(stage(deleting: "post", moreComing: true, withheld: withheld("post", "Post")) == .needsDelete)
    }

    @Test func linksOfAnUnknownObjectStay() { #expect(stage(deleting: "post", withheld: nil) == nil) }

    @Test func linksOfARelocatedObjectFollowIt() {
        #expect(stage(deleting: "post", isElsewhere: true, withheld: withheld("post", "Post")) == nil)
    }

    /// It may have been merged into an object of a later page, or was merged into one.
    @Test func linksOfAMergedObjectStay() {
        #expect(stage(deleting: "label", withheld: withheld("label", "Label")) == .needsDelete)
        #expect(stage(deleting: "label", moreComing: true, withheld: withheld("label", "Label")) == nil)
        #expect(stage(deleting: "label", withheld: withheld("label", "Label"), successors: ["label": "other"]) == nil)
    }
}
