// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension TransportResponse {
    /// Seconds to wait before a retry, from a number or a date. A date is compared with the server's `Date` header, so
    /// that a wrong clock on this device does not matter.
    ///
    /// Source: RFC 9110, section 10.2.3.
    var secondsToWait: Double? {
        guard let text = headers[HeaderNames.retryAfter] else { return nil }
        if let seconds = Double(text) { return seconds.isFinite && seconds >= 0 ? seconds : nil }
        guard let date = HTTPDate.parse(text) else { return nil }
        let now = headers["Date"].flatMap(HTTPDate.parse) ?? Date.now
        return max(0, date.timeIntervalSince(now))
    }
}

/// Dates of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// Source: RFC 9110, section 5.6.7. The two obsolete forms are not parsed.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func parse(_ text: String) -> Date? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), 1...31 ~= day,
            let month = months.firstIndex(where: { $0 == parts[2] }), let year = Int(parts[3]), 1970...9999 ~= year
        else { return nil }
        let time = parts[4].split(separator: ":").compactMap { Int($0) }
        guard time.count == 3, 0...23 ~= time[0], 0...59 ~= time[1], 0...60 ~= time[2] else { return nil }
        return Date(timeIntervalSince1970: Double(days(year, month + 1, day) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]))
    }

    /// Days since 1970. The year is counted from March, so that the leap day is the last one.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
