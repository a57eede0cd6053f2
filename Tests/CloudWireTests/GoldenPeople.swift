// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

private let garden = ZoneID(zoneName: "Garden", ownerRecordName: "_7a1c")

private var metadata: ShareMetadata {
    var share = Record(recordName: "s", recordType: ShareDetails.recordType)
    share.sharing.details = ShareDetails(publicPermission: .readWrite)
    return ShareMetadata(
        shortGUID: ShortGUID(value: "0Ab3", shouldFetchRootRecord: true), containerIdentifier: "iCloud.n",
        environment: .production, scope: .shared, zoneID: garden, rootRecordName: "bed",
        rootRecord: Record(recordName: "bed", recordType: "Bed"), share: share,
        owner: UserIdentity(userRecordName: "_7a1c", givenName: "Mia"), participantKind: .publicUser,
        participantPermission: .readWrite, participantStatus: .accepted)
}

private var closedShare: Record {
    var record = Record(recordName: "s", recordType: ShareDetails.recordType)
    var approved = ShareParticipant(participantID: "b", identity: UserIdentity(userRecordName: "_b"), permission: .readOnly)
    approved.isApprovedRequester = true
    var oneTime = ShareParticipant(participantID: "x", identity: UserIdentity(userRecordName: ""), permission: .readOnly)
    oneTime.isOneTime = true
    oneTime.oneTimeGUID = "0f"
    var details = ShareDetails(participants: [
        ShareParticipant(
            participantID: "o", identity: UserIdentity(userRecordName: "_7a1c"), kind: .owner, permission: .readWrite,
            status: .accepted, added: 1_900_000_000_000), approved, oneTime,
    ])
    details.allowsAccessRequests = true
    details.requesters = [UserIdentity(userRecordName: "_c")]
    details.blocked = [UserIdentity(userRecordName: "_d")]
    details.answers = AccessAnswers(denied: ["_e"], blocked: ["_f"], unblocked: ["_0"])
    record.sharing.details = details
    return record
}

/// Shares by their links, people, tokens, and the older forms.
let peopleGoldens: [Golden] = [
    Golden(
        ShortGUIDsResponse(results: [
            .share(metadata), .failure(ShortGUID(value: "zzz"), WireError(.notFound, "nothing is shared at this link")),
            .failure(
                ShortGUID(value: "1"),
                WireError(.accessDenied, "the share is not for the caller", nativeCode: .participantMayNeedVerification)),
        ]),
        #"{"results":[{"shortGUID":{"value":"0Ab3","shouldFetchRootRecord":true},"containerIdentifier":"iCloud.n","#
            + #""environment":"PRODUCTION","databaseScope":"SHARED","zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"#
            + #""rootRecordName":"bed","rootRecord":{"recordName":"bed","recordType":"Bed","fields":{}},"#
            + #""participantType":"PUBLIC_USER","participantPermission":"READ_WRITE","participantStatus":"ACCEPTED","#
            + #""ownerIdentity":{"userRecordName":"_7a1c","nameComponents":{"givenName":"Mia"}},"#
            + #""share":{"recordName":"s","recordType":"cloudkit.share","publicPermission":"READ_WRITE","participants":[],"fields":{}}},"#
            + #"{"shortGUID":{"value":"zzz","shouldFetchRootRecord":false},"serverErrorCode":"NOT_FOUND","#
            + #""reason":"nothing is shared at this link"},"#
            + #"{"shortGUID":{"value":"1","shouldFetchRootRecord":false},"serverErrorCode":"ACCESS_DENIED","#
            + #""reason":"the share is not for the caller","nativeErrorCode":33}]}"#),
    Golden(
        AccessRequestsResponse(results: [
            AccessRequestResult(shortGUID: ShortGUID(value: "0Ab3")),
            AccessRequestResult(
                shortGUID: ShortGUID(value: "1"),
                error: WireError(.badRequest, "takes part", nativeCode: .participantAlreadyInvited)),
        ]),
        #"{"results":[{"shortGUID":{"value":"0Ab3","shouldFetchRootRecord":false}},"#
            + #"{"shortGUID":{"value":"1","shouldFetchRootRecord":false},"serverErrorCode":"BAD_REQUEST","#
            + #""reason":"takes part","nativeErrorCode":37}]}"#),
    Golden(
        closedShare,
        #"{"recordName":"s","recordType":"cloudkit.share","publicPermission":"NONE","#
            + #""participants":[{"participantId":"o","userIdentity":{"userRecordName":"_7a1c"},"type":"OWNER","#
            + #""permission":"READ_WRITE","acceptanceStatus":"ACCEPTED","dateAddedToShare":1900000000000},"#
            + #"{"participantId":"b","userIdentity":{"userRecordName":"_b"},"type":"USER","permission":"READ_ONLY","#
            + #""acceptanceStatus":"INVITED","isApprovedRequester":true},"#
            + #"{"participantId":"x","type":"USER","permission":"READ_ONLY","acceptanceStatus":"INVITED","#
            + #""isOneTimeURLParticipant":true,"oneTimeShortGUID":"0f"}],"#
            + #""owner":{"participantId":"o","userIdentity":{"userRecordName":"_7a1c"},"type":"OWNER","#
            + #""permission":"READ_WRITE","acceptanceStatus":"ACCEPTED","dateAddedToShare":1900000000000},"#
            + #""allowsAccessRequests":true,"accessRequesters":[{"userRecordName":"_c"}],"blockedIdentities":[{"userRecordName":"_d"}],"#
            + #""denyRequesters":["_e"],"blockRequesters":["_f"],"unblockIdentities":["_0"],"fields":{}}"#),
    Golden(
        DiscoverUsersRequest(lookupInfos: [.emailAddress("a@example.org"), .phoneNumber("+49 1"), .userRecordName("_a")]),
        #"{"lookupInfos":[{"emailAddress":"a@example.org"},{"phoneNumber":"+49 1"},{"userRecordName":"_a"}]}"#),
    Golden(
        UserIdentitiesResponse(users: [UserIdentity(userRecordName: "_a", lookupInfo: .emailAddress("a@example.org"))]),
        #"{"users":[{"userRecordName":"_a","lookupInfo":{"emailAddress":"a@example.org"}}]}"#),
    Golden(LookupUsersRequest(users: [.userRecordName("_a")]), #"{"users":[{"userRecordName":"_a"}]}"#),
    Golden(
        UserDictionary(userRecordName: "_a", firstName: "Mia", lastName: "Ott", emailAddress: "a@example.org"),
        #"{"userRecordName":"_a","firstName":"Mia","lastName":"Ott","emailAddress":"a@example.org"}"#),
    Golden(
        UserDictionariesResponse(users: [UserDictionary(userRecordName: "_a")]), #"{"users":[{"userRecordName":"_a"}]}"#),
    Golden(
        PushTokenResponse(apnsEnvironment: .production, apnsToken: "t", webcourierURL: "http://c.example/1"),
        #"{"apnsEnvironment":"production","apnsToken":"t","webcourierURL":"http://c.example/1"}"#),
    Golden(WebAuthTokenRequest(apiToken: "a"), #"{"apiToken":"a"}"#),
    Golden(WebAuthTokenResponse(webAuthToken: "w"), #"{"webAuthToken":"w"}"#),
    Golden(
        RecordChangesRequest(zone: ZoneChangesQuery(zoneID: garden, syncToken: "F", reverse: true), numbersAsStrings: true),
        #"{"zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"syncToken":"F","reverse":true,"numbersAsStrings":true}"#),
    Golden(
        RecordChangesResponse(
            records: [Record(recordName: "p", recordType: "Plant", isDeleted: true)], syncToken: "G", moreComing: false, reverse: true),
        #"{"records":[{"recordName":"p","recordType":"Plant","deleted":true}],"syncToken":"G","moreComing":false,"reverse":true}"#),
    Golden(ChangedZonesRequest(metaSyncToken: "m", resultsLimit: 2), #"{"metaSyncToken":"m","resultsLimit":2}"#),
    Golden(
        ChangedZonesResponse(zones: [ZoneChange(zoneID: garden, syncToken: "F")], metaSyncToken: "n", moreComing: true),
        #"{"zones":[{"zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"syncToken":"F","atomic":true}],"#
            + #""metaSyncToken":"n","moreComing":true}"#),
    Golden(
        RereferenceAssetsRequest(zoneID: garden, assets: [.init(recordName: "p", fieldName: "photo")]),
        #"{"zoneID":{"zoneName":"Garden","ownerRecordName":"_7a1c"},"assets":[{"recordName":"p","fieldName":"photo"}]}"#),
    Golden(
        RereferenceAssetsResponse(assets: [
            .asset(AssetValue(fileChecksum: "AQ3f", size: 5, receipt: "r")),
            .failure(recordName: "p", fieldName: "photo", WireError(.notFound, "no such asset")),
        ]),
        #"{"assets":[{"fileChecksum":"AQ3f","size":5,"receipt":"r"},"#
            + #"{"recordName":"p","fieldName":"photo","serverErrorCode":"NOT_FOUND","reason":"no such asset"}]}"#),
    Golden(
        LookupRecordsResponse(results: [.record(Record(recordName: "p"))], syncToken: "now"),
        #"{"records":[{"recordName":"p","fields":{}}],"syncToken":"now"}"#),
]
