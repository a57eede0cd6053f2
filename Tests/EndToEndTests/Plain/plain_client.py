# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""A client that knows the protocol from its documents alone: the standard library of Python and nothing of Tarn's.

usage: plain_client.py SERVER_ADDRESS CONTAINER API_TOKEN DEVICE_TOKEN KEY_ID PRIVATE_KEY_NUMBER

Signs in in all three ways of CloudKit Web Services (an API token alone, with a web auth token from the sign-in page, a
server-to-server key) and with a device token, and asks for every operation that /openapi.json tells of. The account `mia`
has the password `correct horse`. Ends with exit code 0 and the line "plain: ok N operations", or with 1 and one sentence.
"""

import base64
import datetime
import hashlib
import json
import re
import secrets
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

ENVIRONMENT = "development"


class Failure(Exception):
    pass


def expect(condition, sentence):
    if not condition:
        raise Failure(sentence)


class KeepsRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *parameters):
        return None


OPENER = urllib.request.build_opener(KeepsRedirects)


def send(address, body=None, headers=None, method=None):
    """Status, headers and bytes of an answer, whatever its status is."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    request = urllib.request.Request(address, data=body, headers=headers or {}, method=method)
    try:
        with OPENER.open(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


# Signatures: ECDSA on the curve P-256 with SHA-256. Source: FIPS 186-5; SP 800-186, section 3.2.1.3.

P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
BASE = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(number, point):
    result = None
    while number:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def der(number):
    data = number.to_bytes(33, "big").lstrip(b"\0") or b"\0"
    if data[0] & 0x80:
        data = b"\0" + data
    return b"\x02" + bytes([len(data)]) + data


def sign(message, key):
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    while True:
        number = secrets.randbelow(N - 1) + 1
        r = multiply(number, BASE)[0] % N
        s = pow(number, -1, N) * (digest + r * key) % N
        if r and s:
            parts = der(r) + der(s)
            return b"\x30" + bytes([len(parts)]) + parts


def public_key(key):
    """The public half, as `tarn token add-key` takes it."""
    x, y = multiply(key, BASE)
    data = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + b"\4" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
    text = base64.b64encode(data).decode()
    return "-----BEGIN PUBLIC KEY-----\n" + "\n".join(text[i:i + 64] for i in range(0, len(text), 64)) + "\n-----END PUBLIC KEY-----\n"


class Client:
    """One way to sign in."""

    def __init__(self, server, container):
        self.server, self.container = server, container

    def path(self, database, operation):
        return f"/database/1/{self.container}/{ENVIRONMENT}/{database}/{operation}"

    def dress(self, path, body):
        return path, {}

    def call(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        dressed, headers = self.dress(path, data)
        if data is not None:
            headers["Content-Type"] = "application/json"
        status, answer, content = send(self.server + dressed, data, headers, method or ("POST" if data is not None else "GET"))
        self.heard(answer)
        return status, json.loads(content or b"{}")

    def heard(self, headers):
        pass

    def ask(self, database, operation, body=None, method=None):
        """The answer of something that must succeed."""
        status, answer = self.call(self.path(database, operation), body, method)
        expect(status == 200, f"{type(self).__name__} {database}/{operation} is answered {status} {answer}")
        return answer


class World(Client):
    """An API token alone: what everybody may read."""

    def __init__(self, server, container, token):
        super().__init__(server, container)
        self.token = token

    def dress(self, path, body):
        return f"{path}?ckAPIToken={urllib.parse.quote(self.token, safe='')}", {}


class Person(World):
    """An API token and a web auth token, of which each answer brings the next."""

    def __init__(self, server, container, token):
        super().__init__(server, container, token)
        self.web = None

    def dress(self, path, body):
        path, headers = super().dress(path, body)
        return (path + "&ckWebAuthToken=" + urllib.parse.quote(self.web, safe="") if self.web else path), headers

    def heard(self, headers):
        self.web = headers.get("X-Apple-CloudKit-Web-Auth-Token") or self.web

    def sign_in(self, name, password):
        status, answer = self.call(self.path("public", "users/caller"))
        expect(status == 421 and answer.get("serverErrorCode") == "AUTHENTICATION_REQUIRED", f"signed out is answered {status} {answer}")
        address = answer.get("redirectURL")
        expect(address, "there is no redirectURL")
        status, _, page = send(address)
        expect(status == 200 and b"password" in page, f"the sign-in page is answered {status}")
        status, _, page = send(address, urllib.parse.urlencode({"name": name, "password": "wrong"}).encode())
        expect(status == 401, f"a wrong password is answered {status}")
        status, headers, page = send(address, urllib.parse.urlencode({"name": name, "password": password}).encode())
        expect(status in (302, 303), f"signing in is answered {status}")
        target = urllib.parse.urlsplit(headers["Location"])
        self.web = urllib.parse.parse_qs(target.query)["ckWebAuthToken"][0]
        return target


class Program(Client):
    """A server-to-server key."""

    def __init__(self, server, container, key_id, key):
        super().__init__(server, container)
        self.key_id, self.key = key_id, key

    def dress(self, path, body):
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = base64.b64encode(hashlib.sha256(body or b"").digest()).decode()
        signature = base64.b64encode(sign(f"{date}:{digest}:{path}".encode(), self.key)).decode()
        return path, {
            "X-Apple-CloudKit-Request-KeyID": self.key_id, "X-Apple-CloudKit-Request-ISO8601Date": date,
            "X-Apple-CloudKit-Request-SignatureV1": signature,
        }


class Device(Client):
    """A device token."""

    def __init__(self, server, container, token):
        super().__init__(server, container)
        self.token = token

    def dress(self, path, body):
        return path, {"Authorization": f"Bearer {self.token}"}


def walk(server, container, api_token, device_token, key_id, key):
    asked = set()

    def note(operation):
        asked.add(operation)
        return operation

    status, _, content = send(server + "/openapi.json")
    expect(status == 200, "there is no /openapi.json")
    document = json.loads(content)

    world = World(server, container, api_token)
    person = Person(server, container, api_token)
    program = Program(server, container, key_id, key)
    device = Device(server, container, device_token)
    target = person.sign_in("mia", "correct horse")
    expect(target.netloc == "app.example.org", f"sign-in leads to {target.netloc}")

    # Who is who.
    me = person.ask("public", note("users/caller"))
    expect(me["userRecordName"] == device.ask("public", "users/caller")["userRecordName"], "one person has two names")
    person.ask("public", note("users/current"))
    person.ask("public", note("users/discover"), {"lookupInfos": [{"userRecordName": me["userRecordName"]}]})
    person.ask("public", "users/discover", method="GET")
    person.ask("public", note("users/lookup/email"), {"users": [{"emailAddress": "mia@example.org"}]})
    person.ask("public", note("users/lookup/id"), {"users": [{"userRecordName": me["userRecordName"]}]})
    person.ask("public", note("users/lookup/contacts"), {"contacts": []})

    # The public database: programs write, the world reads.
    made = program.ask("public", note("records/modify"), {"operations": [
        {"operationType": "create", "record": {"recordType": "News", "recordName": "n1", "fields": {"title": {"value": "It rains"}}}}]})
    expect(made["records"][0].get("recordChangeTag"), f"nothing was made: {made}")
    found = world.ask("public", note("records/query"), {"query": {"recordType": "News", "filterBy": [
        {"fieldName": "title", "comparator": "EQUALS", "fieldValue": {"value": "it RAINS"}}]}})
    expect([record["recordName"] for record in found["records"]] == ["n1"], f"the world finds {found}")
    world.ask("public", note("records/lookup"), {"records": [{"recordName": "n1"}]})
    status, refused = world.call(world.path("public", "records/modify"), {"operations": [
        {"operationType": "forceDelete", "record": {"recordName": "n1"}}]})
    expect(status == 421, f"the world may write: {status} {refused}")
    status, refused = program.call(program.path("private", "zones/list"))
    expect(status == 401, f"a program reads private data: {status} {refused}")

    # The private database.
    garden = {"zoneName": "Garden"}
    person.ask("private", note("zones/modify"), {"operations": [{"operationType": "create", "zone": {"zoneID": garden}}]})
    expect(len(person.ask("private", note("zones/list"))["zones"]) == 2, "there are not two zones")
    person.ask("private", note("zones/lookup"), {"zones": [garden]})
    granted = person.ask("private", note("assets/upload"), {"zoneID": garden, "tokens": [
        {"recordType": "Plant", "recordName": "sage", "fieldName": "photo"}]})
    content = bytes(range(256)) * 300
    status, _, receipt = send(granted["tokens"][0]["url"], content, {"Content-Type": "application/octet-stream"})
    expect(status == 200, f"sending a file is answered {status}")
    saved = person.ask("private", "records/modify", {"zoneID": garden, "operations": [{"operationType": "create", "record": {
        "recordType": "Plant", "recordName": "sage",
        "fields": {"name": {"value": "Sage"}, "photo": {"value": json.loads(receipt)["singleFile"]}}}}]})
    address = saved["records"][0]["fields"]["photo"]["value"]["downloadURL"].replace("${f}", "photo")
    expect(send(address)[2] == content, "the file came back otherwise")
    status, headers, part = send(address, headers={"Range": "bytes=1000-1099"})
    expect(status == 206 and part == content[1000:1100], f"a range is answered {status}")
    person.ask("private", note("assets/rereference"), {"zoneID": garden, "assets": [{"recordName": "sage", "fieldName": "photo"}]})
    changes = person.ask("private", note("changes/database"), {})
    expect([zone["zoneID"]["zoneName"] for zone in changes["zones"]] == ["Garden"], f"changes are {changes}")
    page = device.ask("private", note("changes/zone"), {"zones": [{"zoneID": garden}]})
    expect([record["recordName"] for record in page["zones"][0]["records"]] == ["sage"], f"changes are {page}")
    device.ask("private", note("records/changes"), {"zoneID": garden})
    device.ask("private", note("zones/changes"), {})

    # A snapshot of a zone with many records.
    orchard = {"zoneName": "Orchard"}
    device.ask("private", "zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": orchard}}]})
    for first in range(0, 600, 200):
        device.ask("private", "records/modify", {"zoneID": orchard, "operations": [{"operationType": "create", "record": {
            "recordType": "Plant", "recordName": f"tree-{number}", "fields": {"name": {"value": f"Tree {number}"}}}}
            for number in range(first, first + 200)]})
    expect(len(snapshot(device, orchard, note)) == 600, "the snapshot has not all records")

    # Subscriptions and notifications.
    person.ask("private", note("subscriptions/modify"), {"operations": [{"operationType": "create", "subscription": {
        "subscriptionID": "all", "subscriptionType": "database", "notificationInfo": {"shouldSendContentAvailable": True}}}]})
    person.ask("private", note("subscriptions/list"))
    person.ask("private", note("subscriptions/lookup"), {"subscriptions": [{"subscriptionID": "all"}]})
    own = f"/device/1/{container}/{ENVIRONMENT}/"
    status, token = person.call(own + note("tokens/create"), {"apnsEnvironment": ENVIRONMENT, "clientId": "page"})
    expect(status == 200, f"tokens/create is answered {status} {token}")
    status, _ = person.call(own + note("tokens/register"), {"apnsEnvironment": ENVIRONMENT, "apnsToken": token["apnsToken"], "clientId": "page"})
    expect(status == 200, f"tokens/register is answered {status}")
    told = []
    waiting = threading.Thread(target=lambda: told.append(send(token["webcourierURL"])), daemon=True)
    waiting.start()
    for _ in range(30):
        # The wait may begin after a change; then the next one ends it.
        device.ask("private", "records/modify", {"zoneID": garden, "operations": [{"operationType": "forceUpdate", "record": {
            "recordType": "Plant", "recordName": "mint", "fields": {"name": {"value": "Mint"}}}}]})
        waiting.join(1)
        if told:
            break
    expect(told and told[0][0] == 200 and told[0][2], f"the courier brings {told}")
    expect(json.loads(told[0][2])["ck"]["met"]["sid"] == "all", f"the courier brings {told}")
    status, web = device.call(own + note("tokens/webAuth"), {"apiToken": api_token})
    expect(status == 200 and web.get("webAuthToken"), f"tokens/webAuth is answered {status} {web}")
    asked.add("push/stream")
    request = urllib.request.Request(server + own + "push/stream", headers={"Authorization": f"Bearer {device_token}"})
    with OPENER.open(request, timeout=60) as stream:
        expect(stream.status == 200, "the stream does not stand")
        person.ask("private", "records/modify", {"zoneID": garden, "operations": [
            {"operationType": "forceDelete", "record": {"recordName": "mint"}}]})
        line = b"\n"
        while line == b"\n":
            line = stream.readline()
        expect(json.loads(line)["ck"]["met"]["sid"] == "all", f"the stream brings {line[:200]}")

    # Sharing.
    shared = person.ask("private", "records/modify", {"zoneID": garden, "operations": [{"operationType": "create", "record": {
        "recordType": "cloudkit.share", "recordName": "cloudkit.zoneshare", "publicPermission": "READ_ONLY", "participants": [], "fields": {}}}]})
    guid = shared["records"][0].get("shortGUID")
    expect(guid, f"nothing is shared: {shared}")
    resolved = person.ask("public", note("records/resolve"), {"shortGUIDs": [{"value": guid}]})
    expect(resolved["results"][0]["zoneID"]["zoneName"] == "Garden", f"the link leads to {resolved}")
    person.ask("public", note("records/accept"), {"shortGUIDs": [{"value": guid}]})
    status, wish = person.call(person.path("public", note("records/requestAccess")), {"shortGUIDs": [{"value": guid}]})
    expect(status == 200 and wish["results"][0]["serverErrorCode"], f"who owns a share may ask for it: {status} {wish}")
    person.ask("shared", "zones/list")

    # What goes beyond: requests may be repeated, and everybody's own data be paused.
    path = device.path("private", "records/modify")
    body = json.dumps({"zoneID": garden, "operations": [{"operationType": "create", "record": {"recordType": "Plant", "recordName": "dill"}}]}).encode()
    keyed = {"Authorization": f"Bearer {device_token}", "X-Tarn-Idempotency-Key": "once", "Content-Type": "application/json"}
    first, second = send(server + path, body, keyed), send(server + path, body, keyed)
    expect(first[0] == 200 and first[2] == second[2], "a repeated request is answered otherwise")
    person.ask("private", note("users/restrict"), {})
    status, refused = person.call(person.path("private", "zones/list"))
    expect(status == 403, f"a paused user is answered {status} {refused}")
    person.ask("private", note("users/unrestrict"), {})
    for place in ("/health", "/ready", "/metrics"):
        expect(send(server + place)[0] == 200, f"{place} does not answer")

    known = {re.sub(r"^/(database/1/\{container\}/\{environment\}/\{database\}|device/1/\{container\}/\{environment\})/", "", path)
             for path in document["paths"] if path.startswith(("/database/", "/device/"))}
    expect(known <= asked, f"nobody asked for {sorted(known - asked)}")
    return len(asked)


def snapshot(device, zone, note):
    """The record names of a zone, from the frames of its snapshot."""
    path, headers = device.dress(device.path("private", "changes/zone"), None)
    headers |= {"Content-Type": "application/json", "X-Tarn-Capabilities": "snapshots"}
    status, _, content = send(device.server + path, json.dumps({"zones": [{"zoneID": zone}]}).encode(), headers)
    page = json.loads(content)["zones"][0]
    expect(status == 200 and page["records"] == [] and page.get("snapshot"), f"no snapshot is offered: {status} {page}")
    path, headers = device.dress(device.path("private", note("changes/snapshot")), None)
    address = f"{device.server}{path}?id={page['snapshot']['identifier']}"
    names, offset, digest, is_last = set(), 0, bytes(32), False
    while not is_last:
        status, _, content = send(address, headers=headers | {"Range": f"bytes={offset}-"})
        expect(status == 206 and content, f"a part of a snapshot is answered {status}")
        while content:
            length = int.from_bytes(content[:4], "big")
            digest_read, body = content[4:36], content[36:36 + length]
            expect(len(body) == length, "a frame is cut")
            digest = hashlib.sha256(digest + body).digest()
            expect(digest == digest_read, "a frame has another digest")
            frame = json.loads(body)
            names |= {record["recordName"] for record in frame["records"]}
            is_last = not frame["moreComing"]
            content, offset = content[36 + length:], offset + 36 + length
    return names


def main():
    if sys.argv[1:2] == ["public-key"]:
        print(public_key(int(sys.argv[2])), end="")
        return 0
    server, container, api_token, device_token, key_id, key = sys.argv[1:7]
    try:
        print(f"plain: ok {walk(server, container, api_token, device_token, key_id, int(key))} operations")
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


sys.exit(main())
