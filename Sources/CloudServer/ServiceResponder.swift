// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
package import Hummingbird
import Logging
import NIOCore

/// Translates requests from Hummingbird to the service, and responses back. It contains no rules of the service.
package struct ServiceResponder: HTTPResponder {
    package typealias Context = ServiceContext

    let service: CloudService
    private let pages: (any PageResponder)?
    let metrics: RequestMetrics
    private let spans: SpanExporter?
    private let pace: BodyPace
    private let access: OperationsAccess
    let proxies: TrustedProxies
    private let hostRule: HostRule
    let speaksTLS: Bool
    private let logger: Logger
    private let running = RunningRequests()

    init(
        service: CloudService, pages: (any PageResponder)? = nil, metrics: RequestMetrics = RequestMetrics(),
        spans: SpanExporter? = nil, access: OperationsAccess = OperationsAccess(), proxies: TrustedProxies = TrustedProxies(),
        hostRule: HostRule = HostRule(publicAddress: nil), logger: Logger, speaksTLS: Bool = false
    ) {
        self.service = service
        self.pages = pages
        self.metrics = metrics
        self.spans = spans
        pace = BodyPace(service.engine.limits)
        self.access = access
        self.proxies = proxies
        self.speaksTLS = speaksTLS
        self.hostRule = hostRule
        self.logger = logger
    }

    package func respond(to request: Request, context: ServiceContext) async throws -> Response {
        // First, since each comparison of such a header takes long.
        guard !Self.hasExcessiveMarks(request) else {
            var response = text("A header has at most \(CombiningMarks.inARowMax) combining marks in a row.", .badRequest)
            SecurityHeaders.add(to: &response.headers, isSecure: speaksTLS)
            return request.method == .head ? response.createHeadResponse() : response
        }
        var response = try await answer(to: request, context)
        SecurityHeaders.add(to: &response.headers, isSecure: scheme(of: request) == "https")
        // A client parses bytes after the response to HEAD as the next response: an error must not have a body either.
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// Only headers: the HTTP decoder refuses request targets that are not ASCII.
    private static func hasExcessiveMarks(_ request: Request) -> Bool {
        request.headers.contains { CombiningMarks.areExcessive(in: $0.value) }
            || request.head.authority.map { CombiningMarks.areExcessive(in: $0) } == true
    }

    private func answer(to request: Request, _ context: ServiceContext) async throws -> Response {
        let start = ContinuousClock.now
        var headers = RequestHeaders(capacity: request.headers.count)
        for field in request.headers { headers.append(field.name.canonicalName, field.value) }
        let path = request.uri.path
        let hosts = [request.head.authority].compactMap(\.self) + headers.values(of: "host")
        guard case .accepted(let scheme, let authority) = hostRule.verdict(hosts: hosts, scheme: scheme(of: request)) else {
            return refusal(hosts: hosts)
        }
        if path == OperationsAccess.metricsPath, request.method == .get {
            return access.allows(
                isLocal: context.isLocal, isLoopbackHost: HostHeader(hosts[0], scheme: scheme)?.isLoopback == true, headers: headers)
                ? await measurements() : text("/metrics needs the token of the setting operations-token.", .forbidden)
        }
        let reader = BodyReader(request.body, pace: pace, start: start) { context.stopReading() }
        let incoming = ServiceRequest(
            method: request.method.rawValue, path: path, query: request.uri.query ?? "", headers: headers,
            body: .stream(PacedBody(reader: reader)),
            baseURL: "\(scheme)://\(authority)",
            network: network(headers, context))
        if let page = await pages?.respond(to: incoming) {
            let duration = ContinuousClock.now - start
            metrics.count(endpoint: page.endpoint, status: page.status, took: duration)
            // The log has page requests that sign in or change data, not those that read.
            if request.method != .get { log(page, took: duration, in: headers["traceparent"].flatMap(TraceParent.init)) }
            return await response(to: page, incoming, unread: unread(reader, headers), context)
        }
        let answer = await answer(to: incoming, context)
        let duration = ContinuousClock.now - start
        metrics.count(endpoint: answer.endpoint, status: answer.status, took: duration)
        let trace = headers["traceparent"].flatMap(TraceParent.init)
        spans?.add(answer, method: incoming.method, took: duration, in: trace)
        log(answer, took: duration, in: trace)
        pages?.note(
            RequestNote(
                time: service.now, method: incoming.method, endpoint: answer.endpoint, status: answer.status,
                errorCode: answer.errorCode, milliseconds: duration / .milliseconds(1), requestUUID: answer.requestUUID,
                path: path, client: ClientKind(userAgent: headers["user-agent"]), sender: answer.sender, access: answer.access,
                bytesReceived: reader.bytesRead, bytesSent: answer.bodyBytes))
        // Closes the listener with its connection. Otherwise it would queue notifications until the next write failed.
        if case .events(let listener) = answer.body { context.whenClosed(listener.close) }
        return await response(to: answer, incoming, unread: unread(reader, headers), context)
    }

    /// The reader of the request's body, if the service left part of it unread.
    private func unread(_ reader: BodyReader, _ headers: RequestHeaders) -> BodyReader? {
        let hasBody = headers["transfer-encoding"] != nil || headers["content-length"].map { $0 != "0" } == true
        return hasBody && !reader.isAtEnd ? reader : nil
    }

    /// Cancels a long request when its client disconnects: a poll leaves its notification for the next poll, and a query ends.
    private func answer(to request: ServiceRequest, _ context: ServiceContext) async -> ServiceResponse {
        guard request.endsWithItsClient else { return await service.respond(to: request) }
        let service = service
        return await running.respond(context) { await service.respond(to: request) }
    }

    private func measurements() async -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: await metrics.text())))
    }

    private static let forwardedProto = HTTPFields.Element.Name("X-Forwarded-Proto")

    /// The scheme of the client's connection, which a proxy reports. A client that forges it changes only the URLs in its own
    /// responses.
    private func scheme(of request: Request) -> String {
        speaksTLS || Self.forwardedProto.flatMap { request.headers[$0] } == "https" ? "https" : "http"
    }

    /// Rejects a request that has no `Host`, several, or another one than the configured host.
    private func refusal(hosts: [String]) -> Response {
        guard hosts.count == 1 else { return text("The request needs one Host header.", .badRequest) }
        let setting = hostRule.refusesOtherNames ? "console-public-address" : "public-address"
        return text("This server does not answer for the host of the request: the setting \(setting) names its own.", .misdirectedRequest)
    }

    private func text(_ sentence: String, _ status: HTTPResponse.Status) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence + "\n")))
    }

    /// The network prefix of the client, which shares one rate limit. It is never logged.
    private func network(_ headers: RequestHeaders, _ context: ServiceContext) -> String {
        proxies.sender(NetworkAddress(context.remoteAddress), forwarded: headers.values(of: "x-forwarded-for"))?.network ?? ""
    }

    /// Names of nearly all responses: to check a name takes longer than to find it.
    private static let names = Dictionary(
        uniqueKeysWithValues: [
            HeaderNames.contentType, HeaderNames.requestUUID, HeaderNames.version, HeaderNames.capabilities, HeaderNames.rateLimit,
            HeaderNames.rateLimitRemaining, HeaderNames.rateLimitReset,
        ].compactMap { text in HTTPFields.Element.Name(text).map { (text, $0) } })

    private func response(
        to answer: ServiceResponse, _ request: ServiceRequest, unread: BodyReader?, _ context: ServiceContext
    ) async -> Response {
        var headers = HTTPFields()
        headers.reserveCapacity(answer.headers.count + SecurityHeaders.countMax)
        for (name, value) in answer.headers {
            guard let name = Self.names[name] ?? HTTPFields.Element.Name(name) else { continue }
            if headers.contains(name) { headers[name] = value } else { headers.append(HTTPFields.Element(name: name, value: value)) }
        }
        if case .file = answer.body { SecurityHeaders.addToFile(&headers) }
        var answer = answer
        if Gzip.applies(to: answer, path: request.path) {
            headers[.vary] = [headers[.vary], "Accept-Encoding"].compactMap(\.self).joined(separator: ", ")
            if Gzip.isAccepted(request.header("accept-encoding")), case .bytes(let bytes) = answer.body,
                let compressed = await Gzip.compressedOffTheLoop(bytes)
            {
                headers[.contentEncoding] = "gzip"
                answer.body = .bytes(compressed)
            }
        }
        let body: ResponseBody =
            switch answer.body {
            case .bytes(let bytes):
                if unread != nil || answer.lease != nil || bytes.count > Self.pieceBytes {
                    self.body(of: bytes, answer.lease, unread: unread, context)
                } else {
                    ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
                }
            case .file(let reader, let range): Self.body(of: reader, range)
            case .events(let listener): Self.body(of: listener)
            }
        return Response(status: .init(code: answer.status), headers: headers, body: body)
    }

    /// Bytes of a response between two waits for backpressure.
    private static let pieceBytes = 1 << 18
    private static let fileBytes = 1 << 18

    /// Bytes of a long response that a client must receive in a second, in the mean: 40 kbit/s. ``SlowReaderHandler`` has a lower limit for
    /// the moment.
    private static let bytesPerSecond = 5000

    private func body(
        of bytes: [UInt8], _ lease: RequestMemory.Lease?, unread: BodyReader?, _ context: ServiceContext
    ) -> ResponseBody {
        ResponseBody(contentLength: bytes.count) { writer in
            do {
                let deadline = lease.map { _ in context.close(after: .seconds(Int64(120 + bytes.count / Self.bytesPerSecond))) }
                defer {
                    deadline?.cancel()
                    lease?.end()
                }
                for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
                    let piece = bytes[start..<min(bytes.count, start + Self.pieceBytes)]
                    try await writer.write(ByteBuffer(bytes: piece))
                    lease?.giveBack(piece.count)
                }
                try await writer.finish(nil)
            }
            await unread?.skip()
        }
    }

    private static func body(of reader: any AssetReader, _ range: Range<Int64>) -> ResponseBody {
        ResponseBody(contentLength: Int(range.count)) { writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let bytes = try await reader.read(at: offset, count: min(fileBytes, Int(range.upperBound - offset)))
                // The file was truncated. The client detects it, because the connection ends before `Content-Length` bytes.
                guard !bytes.isEmpty else { throw StorageFailure(.corrupt, "a file became shorter") }
                try await writer.write(ByteBuffer(bytes: bytes))
                offset += Int64(bytes.count)
            }
            try await writer.finish(nil)
        }
    }

    /// Streams one notification per line; an empty line is a heartbeat.
    private static func body(of listener: PushListener) -> ResponseBody {
        ResponseBody { writer in
            defer { listener.close() }
            for await event in listener.events {
                var buffer = ByteBuffer()
                if case .notification(let notification) = event { buffer.writeBytes(notification.encoded()) }
                buffer.writeInteger(UInt8(ascii: "\n"))
                try await writer.write(buffer)
            }
            try await writer.finish(nil)
        }
    }

    /// Logs one line per request, without tokens, names and values.
    private func log(_ answer: ServiceResponse, took duration: Duration, in trace: TraceParent?) {
        guard answer.failure != nil || logger.logLevel <= .info else { return }
        var metadata: Logger.Metadata = [
            "request": "\(answer.requestUUID)", "endpoint": "\(answer.endpoint)", "status": "\(answer.status)",
            "milliseconds": "\(duration / .milliseconds(1))",
        ]
        if let trace {
            metadata["trace"] = "\(trace.traceID)"
            metadata["parent"] = "\(trace.parentID)"
        }
        if let code = answer.errorCode { metadata["error"] = "\(code)" }
        guard let failure = answer.failure else {
            logger.info("request answered", metadata: metadata)
            return
        }
        metadata["failure"] = "\(failure.code.rawValue)"
        metadata["cause"] = "\(failure.what)"
        logger.error("request failed in the storage", metadata: metadata)
    }
}
