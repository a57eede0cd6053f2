// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire

/// The controls of one field in the record form: as the page shows them, or as a browser submitted them.
///
/// A browser changes texts: it strips line breaks from `<input>`, and sends those of `<textarea>` as CR LF. So a
/// submitted field is compared with the shown controls, never with the stored value: each field carries a fingerprint of
/// its controls in `o.NAME`. A field with the same fingerprint was not touched, and is not sent to the service.
///
/// | control | name |
/// |---|---|
/// | fingerprint of the controls as shown first | `o.NAME` |
/// | "no value" | `n.NAME` |
/// | text of a scalar field | `f.NAME` |
/// | number of stored elements of a list | `c.NAME` |
/// | element of a list, stored ones first | `v.INDEX.NAME` |
/// | "remove" of a stored element | `x.INDEX.NAME` |
/// | "add, though empty" of a new element | `k.INDEX.NAME` |
/// | receipt of an uploaded asset | `a.NAME` |
struct FieldForm {
    /// How a field is edited.
    enum Control: Equatable {
        case line
        /// With line breaks.
        case text
        case list(isText: Bool)
        case asset
        /// Shown, and cleared with "no value".
        case fixed
    }

    struct Row {
        var text: String
        /// Position in the stored list; nil for a new element.
        var stored: Int?
        var isRemoved = false
        /// A new element that is added though its text is empty.
        var isKeptEmpty = false

        var counts: Bool { stored == nil ? !text.isEmpty || isKeptEmpty : !isRemoved }
    }

    /// Elements of a list that one page edits. Longer lists are shown only.
    static let elementsMax = 500
    private static let newRowsMax = 200
    /// Controls of one field: up to two for each element, the fingerprint, the box for no value, and the number of stored elements.
    static let controlsMax = 2 * (elementsMax + newRowsMax) + 3

    let name: String
    let control: Control
    var hasNoValue: Bool
    /// One for a scalar field.
    var rows: [Row]

    /// The controls for a stored value.
    init(_ name: String, type: String, _ value: FieldValue?) {
        self.name = name
        control = Self.control(type, value)
        hasNoValue = value == nil
        switch (control, value) {
        case (.line, _), (.text, _): rows = [Row(text: LineBreaks.normalized(FieldText.text(value)), stored: 0)]
        case (.list, .list(let elements, _)?):
            rows = elements.enumerated().map { Row(text: LineBreaks.normalized(FieldText.text($1)), stored: $0) }
        case (.list, _), (.asset, _), (.fixed, _): rows = []
        }
    }

    private static func control(_ type: String, _ value: FieldValue?) -> Control {
        if FieldText.isAsset(type) { return .asset }
        guard FieldText.isEditable(type) else { return .fixed }
        let isText = type == "STRING" || type == "STRING_LIST"
        guard type.hasSuffix("_LIST") else {
            let text = FieldText.text(value)
            guard FieldText.survivesForms(text) else { return .fixed }
            return isText || LineBreaks.areIn(text) ? .text : .line
        }
        guard case .list(let elements, _)? = value else { return .list(isText: isText) }
        let texts = elements.map { FieldText.text($0) }
        guard texts.count <= elementsMax, texts.allSatisfy(FieldText.survivesForms) else { return .fixed }
        return .list(isText: isText || texts.contains(where: LineBreaks.areIn))
    }

    /// Reads the same controls from a submitted form.
    ///
    /// - Returns: Nil if the form has no controls for the field.
    func submitted(in form: QueryItems) -> FieldForm? {
        var read = self
        read.hasNoValue = form["n.\(name)"] != nil
        switch control {
        case .line, .text:
            guard let text = form["f.\(name)"] else { return nil }
            read.rows = [Row(text: LineBreaks.normalized(text), stored: 0)]
        case .list:
            guard let stored = form["c.\(name)"].flatMap({ Int($0) }), 0...Self.elementsMax ~= stored else { return nil }
            read.rows = []
            for index in 0..<stored + Self.newRowsMax {
                guard let text = form["v.\(index).\(name)"] else { break }
                read.rows.append(
                    Row(
                        text: LineBreaks.normalized(text), stored: index < stored ? index : nil,
                        isRemoved: form["x.\(index).\(name)"] != nil, isKeptEmpty: form["k.\(index).\(name)"] != nil))
            }
        case .asset, .fixed:
            guard form["o.\(name)"] != nil else { return nil }
        }
        // A request of another client: an empty text means no value.
        if form["o.\(name)"] == nil, read.rows.allSatisfy(\.text.isEmpty) { read.hasNoValue = true }
        return read
    }

    /// A code of the controls' state, of equal length for all.
    func fingerprint(_ service: CloudService) -> String {
        let texts = rows.filter(\.counts).map(\.text)
        var state = "\(name) \(hasNoValue)"
        for text in texts { state += " \(text.utf8.count):\(text)" }
        return service.formCode(of: "field " + state)
    }

    /// The controls of a field without a value.
    var blank: FieldForm {
        var blank = self
        blank.hasNoValue = true
        switch control {
        case .line, .text: blank.rows = [Row(text: "", stored: 0)]
        case .list, .asset, .fixed: blank.rows = []
        }
        return blank
    }
}

/// Line breaks in texts that go through an HTML form.
///
/// Source: *HTML Living Standard*, "Form submission": browsers send CR LF for each line break of a control.
enum LineBreaks {
    private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

    static func areIn(_ text: String) -> Bool { text.utf8.contains { $0 == cr || $0 == lf } }

    /// Every line break as LF.
    static func normalized(_ text: String) -> String {
        guard text.utf8.contains(cr) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var afterCR = false
        for byte in text.utf8 {
            if byte != lf || !afterCR { bytes.append(byte == cr ? lf : byte) }
            afterCR = byte == cr
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A text with the line breaks of another one, if that has only one kind.
    static func styled(_ text: String, as original: String) -> String {
        let breaks = Array(original.utf8)
        let pairs = breaks.indices.dropFirst().count { breaks[$0] == lf && breaks[$0 - 1] == cr }
        let (crs, lfs) = (breaks.count { $0 == cr }, breaks.count { $0 == lf })
        guard crs > 0, lfs == pairs, crs == pairs || pairs == 0 else { return text }
        return String(decoding: text.utf8.flatMap { $0 == lf ? pairs > 0 ? [cr, lf] : [cr] : [$0] }, as: UTF8.self)
    }
}
