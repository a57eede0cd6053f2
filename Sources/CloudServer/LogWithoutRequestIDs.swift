// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Logging

/// The log of the HTTP server. It would name each request in the metadata of a logger of its own, which costs more than it
/// tells: the service gives requests identifiers that stand in answers, too.
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
