// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension SaveGroup: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var id: String?
        var part: Int?
        var parts: Int?
        var isAtomic = true
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "id": id = try reader.readString()
            case "part": part = try reader.readInt()
            case "parts": parts = try reader.readInt()
            case "atomic": isAtomic = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.init(
            id: try id.required("the group has no id", at: start), part: try part.required("the group has no part", at: start),
            parts: try parts.required("the group has no parts", at: start), isAtomic: isAtomic)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("part", part)
            writer.member("parts", parts)
            writer.member("atomic", isAtomic)
        }
    }
}

extension SaveGroupState: WireMessage {
    private enum Name: String { case staged = "STAGED", incomplete = "INCOMPLETE", saved = "SAVED", refused = "REFUSED" }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        var name: Name?
        var missing: [Int] = []
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "state": name = try reader.readChoice(orFault: "the state of the group is unknown")
            case "missing": missing = try reader.readArray { (reader) throws(JSONFault) in try reader.readInt() }
            default: try reader.skipValue()
            }
        }
        switch try name.required("the group has no state", at: start) {
        case .staged: self = .staged
        case .incomplete: self = .missing(missing)
        case .saved: self = .saved
        case .refused: self = .refused
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .staged: writer.member("state", Name.staged.rawValue)
            case .missing(let parts):
                writer.member("state", Name.incomplete.rawValue)
                writer.key("missing")
                writer.array(parts) { $0.value(Int64($1)) }
            case .saved: writer.member("state", Name.saved.rawValue)
            case .refused: writer.member("state", Name.refused.rawValue)
            }
        }
    }
}
