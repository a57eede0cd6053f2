// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Assigns steps that devices and server report to the saves that they belong to.
///
/// Reports arrive in any order, because each process has a stream of its own; only their times count. A step belongs to the
/// latest save that began before it: a later save waits for the next export.
struct JourneyBook: Sendable {
    typealias Device = DemoCast.Device

    static let journeysMax = 10
    static let requestsMax = 12
    private static let recentMax = 64
    private static let modifyEndpoint = "records/modify"
    /// The log's times have whole milliseconds.
    private static let tolerance = 1.0

    /// Oldest first.
    private(set) var journeys: [Journey] = []
    /// Requests in the server's log, oldest first.
    private(set) var requests: [ServerRequest] = []
    /// The latest notifications, imports and changes of fetched results of all devices, oldest first.
    private var pushes: [(Device, Double)] = []
    private var imports: [(Device, Journey.Span)] = []
    private var appearances: [(Device, Double)] = []
    private var firstStarts: [Device: Double] = [:]
    private var senders: [String: Device] = [:]
    private var senderOrder: [String] = []
    private var nextID = 1

    // MARK: Reports

    /// Notes that a device started: saves from before its first start are no arrivals there.
    mutating func begin(_ device: Device, at time: Double) { firstStarts[device] = firstStarts[device] ?? time }

    mutating func note(_ trace: DeviceTrace, by device: Device) {
        switch trace.kind {
        case .save: noteSave(trace.span, by: device)
        case .export: noteExport(trace, by: device)
        case .request: noteSender(device, of: trace)
        case .push: Self.append((device, trace.began), to: &pushes)
        case .import where trace.failure == nil: Self.append((device, trace.span), to: &imports)
        case .shown: Self.append((device, trace.began), to: &appearances)
        case .import, .setup: break
        }
        settle()
    }

    mutating func note(_ request: ServerRequest) {
        var request = request
        request.device = senders[request.identifier]
        requests.append(request)
        if requests.count > Self.requestsMax { requests.removeFirst() }
        noteCommit(request)
        settle()
    }

    private static func append<Value>(_ value: Value, to list: inout [Value]) {
        list.append(value)
        if list.count > recentMax { list.removeFirst() }
    }

    private mutating func noteSave(_ span: Journey.Span, by device: Device) {
        if let index = journeys.lastIndex(where: { $0.from == device }), journeys[index].export == nil, journeys[index].commit == nil {
            journeys[index].saveCount += 1
            return
        }
        journeys.append(Journey(id: nextID, from: device, save: span))
        nextID += 1
        if journeys.count > Self.journeysMax { journeys.removeFirst() }
    }

    private mutating func noteExport(_ trace: DeviceTrace, by device: Device) {
        guard let index = latest(from: device, at: trace.began) else { return }
        guard trace.failure == nil else {
            journeys[index].failureCount += 1
            return
        }
        journeys[index].export = journeys[index].export + trace.span
        journeys[index].exportMilliseconds += trace.ended - trace.began
    }

    private mutating func noteSender(_ device: Device, of trace: DeviceTrace) {
        guard let identifier = trace.request else { return }
        senders[identifier] = device
        senderOrder.append(identifier)
        if senderOrder.count > Self.recentMax { senders[senderOrder.removeFirst()] = nil }
        guard let index = requests.lastIndex(where: { $0.identifier == identifier }) else { return }
        requests[index].device = device
        noteCommit(requests[index])
    }

    private mutating func noteCommit(_ request: ServerRequest) {
        guard let device = request.device, request.endpoint == Self.modifyEndpoint, request.status == 200,
            let index = latest(from: device, at: request.span.began + Self.tolerance)
        else { return }
        journeys[index].commit = journeys[index].commit + request.span
        journeys[index].commitMilliseconds += request.milliseconds
    }

    /// Assigns notifications, imports and changes of fetched results to the journeys that were on the server by then. The server's
    /// log can arrive later than the import that the request led to.
    private mutating func settle() {
        for index in journeys.indices {
            let journey = journeys[index]
            guard let sent = journey.commit?.began ?? journey.export?.ended else { continue }
            for (device, time) in pushes where isReceiver(device, of: journey) && time >= sent - Self.tolerance {
                update(device, in: index) { $0.push = $0.push ?? time }
            }
            for (device, span) in imports where isReceiver(device, of: journey) && span.ended >= sent - Self.tolerance {
                update(device, in: index) { $0.imported = $0.imported ?? span }
            }
            for (device, time) in appearances where isReceiver(device, of: journey) && time >= sent - Self.tolerance {
                update(device, in: index) { $0.shown = $0.shown ?? time }
            }
        }
    }

    // MARK: Journeys

    private func isReceiver(_ device: Device, of journey: Journey) -> Bool {
        device != journey.from && journey.save.began >= firstStarts[device] ?? -.infinity
    }

    private func latest(from device: Device, at time: Double) -> Int? {
        journeys.lastIndex { $0.from == device && $0.save.began <= time }
    }

    private mutating func update(_ device: Device, in index: Int, _ change: (inout Journey.Arrival) -> Void) {
        if let place = journeys[index].arrivals.firstIndex(where: { $0.device == device }) {
            change(&journeys[index].arrivals[place])
        } else {
            var arrival = Journey.Arrival(device: device)
            change(&arrival)
            journeys[index].arrivals.append(arrival)
        }
    }
}
