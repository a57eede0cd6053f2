// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// A trace span of one request: endpoint, status and duration, without names, values and identifiers of people.
struct Span: Hashable, Sendable {
    /// 32 hexadecimal digits; `spanID` and `parentID` have 16.
    var traceID: String
    var spanID: String
    var parentID: String?
    var method: String
    var endpoint: String
    var status: Int
    var errorCode: String?
    var requestUUID: String
    /// Nanoseconds since 1970 UTC.
    var start: Int64
    var end: Int64
}

extension [Span] {
    /// The spans as one export request of the OpenTelemetry protocol, in JSON.
    ///
    /// Source: *OpenTelemetry Protocol Specification*, "JSON Protobuf Encoding"; *Semantic Conventions for HTTP*, for the
    /// names of attributes.
    func exportText() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("resourceSpans")
            writer.array(CollectionOfOne(self)) { writer, spans in
                writer.object { writer in
                    writer.key("resource")
                    writer.object { $0.attributes([("service.name", .text("tarn"))]) }
                    writer.key("scopeSpans")
                    writer.array(CollectionOfOne(spans)) { writer, spans in
                        writer.object { writer in
                            writer.key("scope")
                            writer.object { $0.member("name", "tarn") }
                            writer.key("spans")
                            writer.array(spans) { $1.write(to: &$0) }
                        }
                    }
                }
            }
        }
        return writer.bytes
    }
}

extension Span {
    private static let serverKind: Int64 = 2
    private static let errorStatus: Int64 = 2

    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("traceId", traceID)
            writer.member("spanId", spanID)
            writer.member("parentSpanId", parentID)
            writer.member("name", "\(method) \(endpoint)")
            writer.member("kind", Self.serverKind)
            writer.member("startTimeUnixNano", String(start))
            writer.member("endTimeUnixNano", String(end))
            var attributes: [(String, SpanAttribute)] = [
                ("http.request.method", .text(method)), ("http.route", .text(endpoint)),
                ("http.response.status_code", .number(status)), ("tarn.request", .text(requestUUID)),
            ]
            if let errorCode { attributes.append(("error.type", .text(errorCode))) }
            writer.attributes(attributes)
            // A rejected request (4xx) isn't an error of the server.
            guard status >= 500 else { return }
            writer.key("status")
            writer.object { $0.member("code", Self.errorStatus) }
        }
    }
}

private enum SpanAttribute {
    case text(String)
    case number(Int)
}

extension JSONWriter {
    fileprivate mutating func attributes(_ attributes: [(String, SpanAttribute)]) {
        key("attributes")
        array(attributes) { writer, attribute in
            writer.object { writer in
                writer.member("key", attribute.0)
                writer.key("value")
                writer.object { writer in
                    switch attribute.1 {
                    case .text(let text): writer.member("stringValue", text)
                    case .number(let number): writer.member("intValue", String(number))
                    }
                }
            }
        }
    }
}
