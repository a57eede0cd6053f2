// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite
import PredicateKit

/// SQL functions by which the database compares values as predicates do in memory.
///
/// | Function | Result |
/// |---|---|
/// | `TARN_STRING(text, pattern, operator, options)` | 1 or 0: BEGINSWITH … MATCHES |
/// | `TARN_FOLD(text, options)` | text that is equal for all texts equal under the options |
/// | `TARN_EQUAL(kinds, a, b)` | 1 or 0; null equals null |
/// | `TARN_MEMBER(kind, a, list)` | 1 or 0: whether a number is in a ``NumberList`` |
/// | `TARN_DOUBLE(bytes)` | the number with these eight bytes |
/// | `TARN_ORDER(kinds, a, b)` | -1, 0, 1, or null without an order |
/// | `TARN_APPLY(kinds, name, …)` | a function of the predicate language |
/// | `TARN_AGGREGATE(kind, name, value)` | the same over the values of all rows: `sum:`, `median:` … |
///
/// `kinds` has a letter for each value, see ``SQLOperand/Kind/letter``.
enum SQLFunctions {
    static func register(on database: OpaquePointer) {
        registerAggregate(on: database)
        registerCollations(on: database)
        add(database, "TARN_STRING", 4) { context, _, arguments in
            guard let arguments, let text = SQLFunctions.text(arguments[0]),
                let pattern = SQLFunctions.text(arguments[1]),
                let comparison = Comparison.Operator(rawValue: Int(sqlite3_value_int64(arguments[2])))
            else { return sqlite3_result_int(context, 0) }
            do throws(PredicateFailure) {
                let options = SQLFunctions.options(arguments[3])
                sqlite3_result_int(context, try StringMatching.matches(text, comparison, pattern, options) ? 1 : 0)
            } catch {
                sqlite3_result_error(context, error.detail, -1)
            }
        }
        add(database, "TARN_FOLD", 2) { context, _, arguments in
            guard let arguments, let text = SQLFunctions.text(arguments[0]) else { return sqlite3_result_null(context) }
            SQLFunctions.give(context, .text(StringMatching.fold(text, SQLFunctions.options(arguments[1]))))
        }
        add(database, "TARN_DERIVE", 2) { context, _, arguments in
            guard let arguments, let text = SQLFunctions.text(arguments[1]), sqlite3_value_type(arguments[1]) != SQLITE_NULL else {
                return sqlite3_result_null(context)
            }
            let derived =
                switch SQLFunctions.text(arguments[0]) {
                case "lowercase": text.lowercased()
                case "uppercase": text.uppercased()
                default: StringMatching.fold(text, [.caseInsensitive, .diacriticInsensitive])
                }
            SQLFunctions.give(context, .text(derived))
        }
        add(database, "TARN_EQUAL", 3) { context, _, arguments in
            guard let arguments else { return }
            let values = SQLFunctions.values(arguments, 1..<3, kinds: arguments[0])
            sqlite3_result_int(context, PredicateValue.areEqual(values[0], values[1]) ? 1 : 0)
        }
        add(database, "TARN_MEMBER", 3) { context, _, arguments in
            guard let arguments else { return }
            let list: Numbers
            if let parsed = sqlite3_get_auxdata(context, 2) {
                list = Unmanaged<Numbers>.fromOpaque(parsed).takeUnretainedValue()
            } else {
                // SQLite keeps it for the statement's other rows.
                list = Numbers(SQLFunctions.text(arguments[2]) ?? "")
                sqlite3_set_auxdata(context, 2, Unmanaged.passRetained(list).toOpaque()) { parsed in
                    if let parsed { Unmanaged<Numbers>.fromOpaque(parsed).release() }
                }
            }
            let value = SQLFunctions.values(arguments, 1..<2, kinds: arguments[0])[0]
            guard let number = value.exactNumber, list.list.members.contains(number) else { return sqlite3_result_int(context, 0) }
            sqlite3_result_int(context, 1)
        }
        add(database, "TARN_DOUBLE", 1) { context, _, arguments in
            guard let arguments, case .blob(let bytes) = SQLFunctions.value(arguments[0]), bytes.count == 8 else {
                return sqlite3_result_null(context)
            }
            let bits = bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
            sqlite3_result_double(context, Double(bitPattern: bits))
        }
        add(database, "TARN_ORDER", 3) { context, _, arguments in
            guard let arguments else { return }
            let values = SQLFunctions.values(arguments, 1..<3, kinds: arguments[0])
            guard let order = PredicateValue.order(values[0], values[1]) else { return sqlite3_result_null(context) }
            sqlite3_result_int(context, Int32(order))
        }
        add(database, "TARN_APPLY", -1) { context, count, arguments in
            guard let arguments, count >= 2, let name = SQLFunctions.text(arguments[1]) else {
                return sqlite3_result_null(context)
            }
            let values = SQLFunctions.values(arguments, 2..<Int(count), kinds: arguments[0])
            do throws(PredicateFailure) {
                // The translation has replaced now() by a constant.
                SQLFunctions.give(context, SQLFunctions.encode(try PredicateFunctions.apply(name, values, now: { 0 })))
            } catch {
                sqlite3_result_error(context, error.detail, -1)
            }
        }
    }

    /// The parsed list of TARN_MEMBER.
    private final class Numbers {
        let list: NumberList
        init(_ text: String) { list = NumberList(text) }
    }

    /// The row values that an aggregate has received.
    private final class Members {
        var name = ""
        var values: [PredicateValue] = []
    }

    private static func members(_ context: OpaquePointer?, bytes: Int32) -> UnsafeMutablePointer<Unmanaged<Members>?>? {
        sqlite3_aggregate_context(context, bytes)?.assumingMemoryBound(to: Unmanaged<Members>?.self)
    }

    private static func registerAggregate(on database: OpaquePointer) {
        let size = Int32(MemoryLayout<Unmanaged<Members>?>.size)
        precondition(size == 8, "the place for an aggregate's values has the size of a pointer")
        let code = sqlite3_create_function_v2(
            database, "TARN_AGGREGATE", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, nil,
            { context, _, arguments in
                guard let arguments, let membersPointer = SQLFunctions.members(context, bytes: 8) else { return }
                let members: Members
                if let existing = membersPointer.pointee {
                    members = existing.takeUnretainedValue()
                } else {
                    members = Members()
                    members.name = SQLFunctions.text(arguments[1]) ?? ""
                    membersPointer.pointee = Unmanaged.passRetained(members)
                }
                members.values += SQLFunctions.values(arguments, 2..<3, kinds: arguments[0])
            },
            { context in
                // Without rows there is neither an aggregate context nor a name: the sum of no values is 0.
                guard let retainedMembers = SQLFunctions.members(context, bytes: 0)?.pointee else {
                    return sqlite3_result_null(context)
                }
                let members = retainedMembers.takeRetainedValue()
                let result = PredicateFunctions.statistics(members.name, members.values)
                SQLFunctions.give(context, SQLFunctions.encode(result))
            }, nil)
        precondition(code == SQLITE_OK, "a fresh connection takes functions")
    }

    /// Text orders, under the names in indexes of Apple's stores.
    private static func registerCollations(on database: OpaquePointer) {
        for (index, collation) in TextCollation.allCases.enumerated() {
            let code = sqlite3_create_collation_v2(
                database, collation.rawValue, SQLITE_UTF8, UnsafeMutableRawPointer(bitPattern: index + 1),
                { place, firstCount, first, secondCount, second in
                    func text(_ start: UnsafeRawPointer?, _ count: Int32) -> String {
                        String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
                    }
                    let collation = TextCollation.allCases[Int(bitPattern: place) - 1]
                    return Int32(collation.order(text(first, firstCount), text(second, secondCount)))
                }, nil)
            precondition(code == SQLITE_OK, "a fresh connection takes collations")
        }
    }

    /// Functions by which triggers of Apple's derived attributes notify the framework. They have no effect here; the
    /// triggers update the columns by themselves.
    static func registerApples(on database: OpaquePointer) {
        for name in [
            "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
        ] {
            add(database, name, -1) { context, _, _ in sqlite3_result_null(context) }
        }
    }

    private typealias Body = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    private static func add(_ database: OpaquePointer, _ name: String, _ count: Int32, _ body: Body) {
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC
        let code = sqlite3_create_function_v2(database, name, count, flags, nil, body, nil, nil, nil)
        precondition(code == SQLITE_OK, "a fresh connection takes functions")
    }

    // MARK: Arguments and results

    private static func text(_ value: OpaquePointer?) -> String? {
        guard sqlite3_value_type(value) == SQLITE_TEXT, let start = sqlite3_value_text(value) else { return nil }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func options(_ value: OpaquePointer?) -> Comparison.Options {
        Comparison.Options(rawValue: UInt(sqlite3_value_int64(value)))
    }

    private static func values(
        _ arguments: UnsafeMutablePointer<OpaquePointer?>, _ range: Range<Int>, kinds: OpaquePointer?
    ) -> [PredicateValue] {
        let letters = Array((text(kinds) ?? "").utf8)
        return range.map { index in
            let position = index - range.lowerBound
            return PredicateValue(
                value(arguments[index]), kind: position < letters.count ? letters[position] : UInt8(ascii: "-"))
        }
    }

    private static func value(_ value: OpaquePointer?) -> SQLValue {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: .int(sqlite3_value_int64(value))
        case SQLITE_FLOAT: .double(sqlite3_value_double(value))
        case SQLITE_TEXT: .text(text(value) ?? "")
        case SQLITE_BLOB:
            .blob(sqlite3_value_blob(value).map { Data(bytes: $0, count: Int(sqlite3_value_bytes(value))) } ?? Data())
        default: .null
        }
    }

    private static func encode(_ value: PredicateValue) -> SQLValue {
        if case .decimal(let decimal) = value { return DecimalStorage.encode(decimal) }
        return value.sqlValue?.value ?? .null
    }

    private static func give(_ context: OpaquePointer?, _ value: SQLValue) {
        switch value {
        case .null: sqlite3_result_null(context)
        case .int(let value): sqlite3_result_int64(context, value)
        case .double(let value): sqlite3_result_double(context, value)
        case .text(var value):
            value.withUTF8 { bytes in
                // An empty buffer may have a nil address, which would mean null.
                let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
                guard let start else { return sqlite3_result_text(context, "", 0, PreparedStatement.transient) }
                sqlite3_result_text(context, start, Int32(bytes.count), PreparedStatement.transient)
            }
        case .blob(let value):
            value.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return sqlite3_result_zeroblob(context, 0) }
                sqlite3_result_blob(context, start, Int32(bytes.count), PreparedStatement.transient)
            }
        }
    }
}
