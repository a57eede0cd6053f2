// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// One server-sent event, as text.
struct Event {
    enum Name: String { case state, change, sync, network, latency, conflicts, shares, board, lens, trace }

    let text: String

    init(_ name: Name, _ value: some Encodable) {
        // Messages are made of strings, numbers and truth values: encoding them cannot fail.
        let data = (try? JSONEncoder().encode(value)) ?? Data("null".utf8)
        text = "event: \(name.rawValue)\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
    }

    private init(text: String) { self.text = text }

    /// A comment, which pages pass over. Writing it is how the connection of a page that is gone is noticed.
    static let beat = Event(text: ":\n\n")
}

/// Hands each event to every open page.
@MainActor final class EventHub {
    /// Events a page may be behind. One that falls further behind is let go; it connects again and starts from the
    /// full state.
    private static let backlogMax = 4096

    private var pages: [Int: AsyncStream<String>.Continuation] = [:]
    private var nextPage = 0

    func subscribe(startingWith event: Event) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(Self.backlogMax))
        let page = nextPage
        nextPage += 1
        pages[page] = continuation
        continuation.onTermination = { _ in Task { @MainActor in self.pages[page] = nil } }
        continuation.yield(event.text)
        return stream
    }

    func send(_ event: Event) {
        for page in pages.values {
            if case .dropped = page.yield(event.text) { page.finish() }
        }
    }
}
