// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// A lens with the fields and slots of its attributes.
///
/// A device with an earlier version writes the earlier fields alone; one with a later version writes both forms in one request. So the later
/// fields of a record are current if both forms agree, and the earlier ones are if they don't:
///
///     record                                      later attributes show
///     "Ann Lee",  –  –                            Ann, Lee      written by an earlier version
///     "Ann Lee",  "Ann" "Lee"                     Ann, Lee      written by a later version
///     "Eva Lee",  "Ann" "Lee"                     Eva, Lee      an earlier version edited it since
///     "seven",    6                               6             an earlier version wrote a value without later form
///
/// This does not depend on a merge base: every device with a later version reads a record alike.
package struct LensMapping: Sendable {
    let lens: Lens
    let earlier: [PropertyMapping]
    let later: [PropertyMapping]
    /// `Thing: name -> firstName lastName`, by the names on the server of the object's entity and its attributes, which no rename changes.
    let text: String

    /// nil if the entity has no field for one of the attributes.
    ///
    /// - Parameter entity: The entity's name on the server.
    init?(_ lens: Lens, of entity: String, _ properties: [PropertyMapping]) {
        func mapped(_ names: [String]) -> [PropertyMapping] {
            names.compactMap { name in properties.first { $0.isAttribute && $0.modelName == name } }
        }
        self.lens = lens
        earlier = mapped(lens.earlier)
        later = mapped(lens.later)
        guard earlier.count == lens.earlier.count, later.count == lens.later.count else { return nil }
        text = "\(entity): \(LensDeclaration.text(from: earlier.map(\.name), to: later.map(\.name)))"
    }

    /// Gives the later fields of a record the values that they show.
    func upgrade(_ fields: inout [String: Field]) {
        guard let before = values(of: earlier, in: fields), let now = values(of: later, in: fields), !agree(before, now),
            let upgraded = lens.upgrade(before)
        else { return }
        for (property, value) in zip(later, upgraded) { fields[property.fieldName] = property.encoded(value).map { Field($0) } }
    }

    /// Gives the earlier fields of a record the form of its later fields, after some of these were replaced. Otherwise the record would seem to
    /// be edited by an earlier version.
    ///
    /// - Parameter former: The record's fields before. If its two forms differed then, the earlier fields are current and stay.
    func alignEarlier(in fields: inout [String: Field], since former: [String: Field]) {
        guard let before = values(of: earlier, in: former), let now = values(of: later, in: former), agree(before, now),
            let replaced = values(of: later, in: fields), !Self.areSame(replaced, now, later)
        else { return }
        let downgraded = lens.downgrade(replaced) ?? earlier.map { _ in .null }
        for (property, value) in zip(earlier, downgraded) { fields[property.fieldName] = property.encoded(value).map { Field($0) } }
    }

    /// Gives the earlier attributes of a row the values that are sent: those of the server while no later attribute was changed here, so that
    /// a value without later form, or in another spelling, is never overwritten by an edit of something else.
    ///
    /// - Parameters:
    ///   - base: The merge base; empty for a record that the server does not have.
    ///   - shown: The merge base, upgraded.
    func downgrade(_ values: inout ContiguousArray<StoredValue>, since base: Ancestor, shown: Ancestor) {
        let now = later.map { values[$0.slot] }
        func isAbsent() -> Bool { Self.areSame(now, later.map(\.absentValue), later) }
        if base.fields.isEmpty {
            let before = earlier.map { values[$0.slot] }
            if let upgraded = lens.upgrade(before) {
                // The row may have the content of an asset, which ``upgrade(_:)`` does not translate: the record would lose it.
                if Self.areSame(upgraded, now, later) || isAbsent() && earlier.contains(where: { $0.isLong(in: values) }) { return }
            } else if isAbsent() {
                return
            }
        } else if !isChanged(values, since: shown) {
            for (index, property) in earlier.enumerated() {
                let content = property.content(in: base.fields)
                switch content {
                case .absent: values[property.slot] = property.absentValue
                case .inline(let value): values[property.slot] = property.stored(value)
                case .asset:
                    // The merge base has no contents of assets, and the row has an older value if this device sent the asset.
                    let digest = property.assetFieldName.flatMap { base.digests[$0] }
                    if property.isSame(property.localContent(of: values[property.slot]), as: content, digest: digest) { continue }
                    // A text that is not translated, in a merge base without its digest.
                    if property.isLong(in: values), isAbsent() { continue }
                    values[property.slot] = lens.downgrade(now)?[index] ?? .null
                }
            }
            return
        }
        let downgraded = lens.downgrade(now) ?? earlier.map { _ in .null }
        for (property, value) in zip(earlier, downgraded) { values[property.slot] = value }
    }

    /// Returns values for the later attributes of a row that was written before the lens was declared; nil if they have values, or need none.
    ///
    /// - Parameter shown: The fields of the record's merge base, upgraded, and empty for a row that the server does not have. An unsent value
    ///   without later form counts as no change.
    func filled(_ values: ContiguousArray<StoredValue>, shown: [String: Field]) -> [(slot: Int, value: StoredValue)]? {
        let now = later.map { values[$0.slot] }
        let initial = later.map { property in
            if case .attribute(let attribute) = property.kind { attribute.defaultValue } else { StoredValue.null }
        }
        guard Self.areSame(now, initial, later) else { return nil }
        let before = earlier.map { values[$0.slot] }, absent = later.map(\.absentValue)
        // Devices read a record without later fields in this way: the default value of a required earlier attribute may be the form of none.
        let upgraded =
            !shown.isEmpty && agree(before, absent) ? absent : lens.upgrade(before) ?? self.values(of: later, in: shown) ?? now
        if Self.areSame(upgraded, now, later) { return nil }
        return zip(later, upgraded).map { (slot: $0.slot, value: $1.isNull ? $0.absentValue : $1) }
    }

    /// Whether the values of the later attributes differ from those of the merge base.
    ///
    /// - Parameter shown: The merge base, upgraded.
    func isChanged(_ values: ContiguousArray<StoredValue>, since shown: Ancestor) -> Bool {
        later.contains { property in
            let value = values[property.slot]
            let digest = property.assetFieldName.flatMap { shown.digests[$0] }
            return !property.isSame(property.localContent(of: value), as: property.content(in: shown.fields), digest: digest)
        }
    }

    /// The later attributes, in the order of their values.
    package var laterAttributes: [Attribute] {
        later.compactMap { property in if case .attribute(let attribute) = property.kind { attribute } else { nil } }
    }

    /// Returns the later values after an earlier one is set, as a device with an earlier version would set it.
    ///
    /// - Parameters:
    ///   - earlier: The name of the earlier attribute.
    ///   - now: The present values of ``laterAttributes``.
    /// - Returns: nil for a value without later form.
    package func setting(_ earlier: String, to value: StoredValue, now: [StoredValue]) -> [StoredValue]? {
        var before = lens.downgrade(now) ?? lens.earlier.map { _ in .null }
        for (index, name) in lens.earlier.enumerated() where name == earlier { before[index] = value }
        return lens.upgrade(before)
    }

    /// Whether the later values have these earlier ones as their earlier form.
    private func agree(_ before: [StoredValue], _ now: [StoredValue]) -> Bool {
        Self.areSame(lens.downgrade(now) ?? earlier.map { _ in .null }, before, earlier)
    }

    /// Compares values as records hold them.
    private static func areSame(_ values: [StoredValue], _ others: [StoredValue], _ properties: [PropertyMapping]) -> Bool {
        zip(properties, zip(values, others)).allSatisfy { property, pair in
            pair.0 == pair.1 || property.encoded(pair.0) == property.encoded(pair.1)
        }
    }

    /// nil if one of the values is the content of an asset, which is not at hand.
    private func values(of properties: [PropertyMapping], in fields: [String: Field]) -> [StoredValue]? {
        var values: [StoredValue] = []
        for property in properties {
            switch property.content(in: fields) {
            case .absent: values.append(property.absentValue)
            case .inline(let value): values.append(property.stored(value))
            case .asset: return nil
            }
        }
        return values
    }
}

extension PropertyMapping {
    var isAttribute: Bool { if case .attribute = form { true } else { false } }

    /// Whether a row has a value that only an asset has room for.
    fileprivate func isLong(in values: ContiguousArray<StoredValue>) -> Bool {
        if case .long = localContent(of: values[slot]) { true } else { false }
    }

    /// The field of a value; that of the absent value for one that a field cannot represent.
    fileprivate func encoded(_ value: StoredValue) -> FieldValue? {
        guard case .attribute(let type) = form else { return nil }
        return FieldCodec.encode(value, as: type) ?? FieldCodec.encode(absentValue, as: type)
    }
}

extension EntityMapping {
    /// Whether a property is for devices with earlier versions alone. It follows the later attributes of its lens, and has no conflicts.
    func isEarlierForm(_ property: PropertyMapping) -> Bool {
        !lenses.isEmpty && property.isAttribute && earlierSlots.contains(property.slot)
    }

    /// Returns the lens with an earlier attribute, by its name in the model; nil for another attribute.
    package func lens(ofEarlier attribute: String) -> LensMapping? { lenses.first { $0.lens.earlier.contains(attribute) } }

    /// Returns a record's fields as this version of the model reads them.
    func upgraded(_ fields: [String: Field]) -> [String: Field] {
        if lenses.isEmpty { return fields }
        var fields = fields
        for lens in lenses { lens.upgrade(&fields) }
        return fields
    }

    /// Returns a merge base as this version of the model reads it.
    func upgraded(_ base: Ancestor) -> Ancestor {
        if lenses.isEmpty { return base }
        var base = base
        base.fields = upgraded(base.fields)
        return base
    }

    /// Returns a row as it is sent.
    ///
    /// - Parameter shown: The merge base, upgraded.
    func downgraded(_ row: Row, since base: Ancestor, shown: Ancestor) -> Row {
        if lenses.isEmpty { return row }
        var row = row
        for lens in lenses { lens.downgrade(&row.values, since: base, shown: shown) }
        return row
    }

    /// Returns the fields that a row is compared with when it is sent. Later fields that an earlier version left behind are sent with the next
    /// edit of one of them, all of them together.
    ///
    /// - Parameter shown: The merge base, upgraded.
    func fieldsToCompare(with row: Row, since base: Ancestor, shown: Ancestor) -> [String: Field] {
        if lenses.isEmpty { return base.fields }
        var fields = base.fields
        for lens in lenses where !lens.isChanged(row.values, since: shown) {
            for property in lens.later { fields[property.fieldName] = shown.fields[property.fieldName] }
        }
        return fields
    }

    /// Returns the earlier attributes that are sent with changes of other attributes. Names are those of properties in sync metadata.
    func earlierNames(following changed: Set<String>) -> [String] {
        lenses.flatMap { lens in lens.later.contains { changed.contains($0.name) } ? lens.earlier.map(\.name) : [] }
    }

    /// Returns a row that was written before lenses were declared, with values for later attributes, and the changed slots; nil for a row that
    /// needs none.
    ///
    /// - Parameters:
    ///   - base: The merge base of the row's record; nil for a row without a record.
    ///   - lenses: Those that the row was written before.
    package func filled(_ row: Row, since base: Ancestor?, by lenses: [LensMapping]) -> (row: Row, changedSlots: [Int])? {
        let shown = base.map { $0.fields.isEmpty ? [:] : upgraded($0.fields) } ?? [:]
        var (filled, slots) = (row, [Int]())
        for (slot, value) in lenses.compactMap({ $0.filled(row.values, shown: shown) }).joined() {
            filled.values[slot] = value
            slots.append(slot)
        }
        return slots.isEmpty ? nil : (filled, slots)
    }
}
