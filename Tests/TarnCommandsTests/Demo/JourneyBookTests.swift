// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

@testable import TarnCommands

/// Steps that devices and server report, in the order in which reports can arrive.
@Suite struct JourneyBookTests {
    private func trace(_ kind: DeviceTrace.Kind, _ began: Double, _ ended: Double? = nil, failure: String? = nil, request: String? = nil)
        -> DeviceTrace
    {
        DeviceTrace(kind: kind, began: began, ended: ended ?? began, failure: failure, request: request)
    }

    private func modify(_ identifier: String, took milliseconds: Double, at time: Double) -> ServerRequest {
        ServerRequest(identifier: identifier, endpoint: "records/modify", status: 200, milliseconds: milliseconds, time: time)
    }

    @Test func aSaveHasTheStepsOfItsWay() throws {
        var book = JourneyBook()
        book.note(trace(.save, 100, 101), by: .iPad)
        book.note(trace(.request, 103, 107, request: "A"), by: .iPad)
        book.note(modify("A", took: 2, at: 106))
        book.note(trace(.push, 107), by: .iPhone)
        book.note(trace(.export, 102, 108), by: .iPad)
        book.note(trace(.import, 107.5, 110), by: .iPhone)
        book.note(trace(.shown, 111), by: .iPhone)
        let journey = try #require(book.journeys.first)
        #expect(book.journeys.count == 1)
        #expect(journey.save == Journey.Span(began: 100, ended: 101))
        #expect(journey.export == Journey.Span(began: 102, ended: 108))
        #expect(journey.commit == Journey.Span(began: 104, ended: 106))
        #expect(
            journey.arrivals == [Journey.Arrival(device: .iPhone, push: 107, imported: Journey.Span(began: 107.5, ended: 110), shown: 111)])
    }

    @Test func theTimeBetweenTwoExportsIsNotCounted() throws {
        var book = JourneyBook()
        book.note(trace(.save, 100), by: .iPad)
        book.note(trace(.save, 103), by: .iPad)
        for time in [101.0, 201] {
            book.note(trace(.request, time, time + 9, request: "\(time)"), by: .iPad)
            book.note(modify("\(time)", took: 3, at: time + 8))
            book.note(trace(.export, time, time + 10), by: .iPad)
        }
        let journey = try #require(book.journeys.first)
        #expect(journey.saveCount == 2)
        #expect(journey.export == Journey.Span(began: 101, ended: 211))
        #expect(journey.exportMilliseconds == 20)
        #expect(journey.commitMilliseconds == 6)
    }

    @Test func theServersLogMayArriveLast() throws {
        var book = JourneyBook()
        book.note(trace(.save, 100, 101), by: .iPad)
        book.note(trace(.import, 107, 110), by: .iPhone)
        book.note(trace(.shown, 111), by: .iPhone)
        book.note(trace(.request, 103, 107, request: "A"), by: .iPad)
        #expect(try #require(book.journeys.first).arrivals.isEmpty)
        book.note(modify("A", took: 2, at: 106))
        let arrival = try #require(book.journeys.first?.arrivals.first)
        #expect(arrival.imported?.ended == 110)
        #expect(arrival.shown == 111)
    }

    @Test func savesThatWaitTravelTogether() throws {
        var book = JourneyBook()
        for time in [100.0, 200, 300] { book.note(trace(.save, time), by: .iPhone) }
        book.note(trace(.export, 120, 130, failure: "offline"), by: .iPhone)
        #expect(book.journeys.map(\.saveCount) == [3])
        #expect(book.journeys.map(\.failureCount) == [1])
        book.note(trace(.export, 400, 410), by: .iPhone)
        book.note(trace(.save, 500), by: .iPhone)
        #expect(book.journeys.map(\.saveCount) == [3, 1])
        #expect(book.journeys[1].export == nil)
    }

    @Test func anImportBeforeTheCommitIsNotItsArrival() {
        var book = JourneyBook()
        book.note(trace(.import, 90, 95), by: .iPhone)
        book.note(trace(.save, 100), by: .iPad)
        book.note(trace(.export, 101, 105), by: .iPad)
        #expect(book.journeys.map(\.arrivals) == [[]])
    }

    @Test func theOldestJourneysAreDropped() {
        var book = JourneyBook()
        for number in 0..<JourneyBook.journeysMax + 3 {
            let time = Double(number) * 100
            book.note(trace(.save, time), by: .iPad)
            book.note(trace(.export, time + 1, time + 2), by: .iPad)
        }
        #expect(book.journeys.count == JourneyBook.journeysMax)
        #expect(book.journeys.last?.id == JourneyBook.journeysMax + 3)
    }

    @Test func requestsAreReadFromLinesWhereverTheyAreCut() throws {
        let line =
            #"{"time":"2026-11-26T10:00:00.250Z","level":"info","message":"request answered","endpoint":"records/modify","#
            + #""milliseconds":"1.5","request":"ABC","status":"200"}"#
        let text = Data(("tarn: a line of text\n" + line + "\n").utf8)
        for cut in 0...text.count {
            var reader = ServerLogReader()
            let requests = reader.requests(in: text[..<cut]) + reader.requests(in: text[cut...])
            #expect(requests.map(\.identifier) == ["ABC"], "cut at \(cut)")
            #expect(requests.map(\.milliseconds) == [1.5])
            #expect(requests.map { $0.time.truncatingRemainder(dividingBy: 1000) } == [250])
        }
    }

    @Test(arguments: [
        ("192.168.1.9", true), ("10.1.2.3", true), ("172.20.0.4", true), ("172.32.0.4", false), ("8.8.8.8", false), ("fe80::1", false),
    ])
    func onlyAddressesOfPrivateNetworksAreShared(_ address: String, _ isPrivate: Bool) {
        #expect(GuestPlace.isPrivate(address) == isPrivate)
    }
}
