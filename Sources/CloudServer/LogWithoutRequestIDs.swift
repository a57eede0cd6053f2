// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Logging

/// Drops Hummingbird's request identifiers from the HTTP server's log.
///
/// Hummingbird makes a logger with metadata for each request, which costs time. The service's own request identifiers, which
/// responses contain too, make these redundant.
struct LogWithoutRequestIDs: LogHandler {
    private var logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    var logLevel: Logger.Level {
        get { logger.logLevel }
        set { logger.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { logger.log(level: event.level, event.message, metadata: event.metadata, source: event.source) }
}
