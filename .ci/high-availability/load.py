# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Clients that save until each save is acknowledged, clients that follow a zone's changes, and what both must find."""

import collections
import http.client
import json
import random
import threading
import time
import uuid

CONTAINER = "iCloud.org.example.ha"
ZONE = {"zoneName": "Garden"}
REQUEST_SECONDS = 40
PAUSE_SECONDS = 0.02
PUSH_SECONDS = 10


class Client:
    """Sends requests to one of the servers, and to another one after a failure."""

    def __init__(self, ports, token, first, counts):
        self.ports, self.token, self.turn, self.counts = ports, token, first, counts
        self.connection = None
        self.longest = 0

    def next_server(self):
        if self.connection:
            self.connection.close()
        self.connection = None
        self.turn += 1

    def post(self, operation, message, key=None):
        """One attempt: the response of a request that succeeded, or None and the seconds to wait before the next attempt."""
        began = time.monotonic()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["X-Tarn-Idempotency-Key"] = key
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.ports[self.turn % len(self.ports)], timeout=REQUEST_SECONDS)
            self.connection.request("POST", f"/database/1/{CONTAINER}/development/private/{operation}", json.dumps(message), headers)
            response = self.connection.getresponse()
            content = json.loads(response.read() or b"{}")
        except TimeoutError:
            self.counts["timeout"] += 1
            self.next_server()
            return None, 0.1
        except (OSError, http.client.HTTPException, ValueError):
            self.counts["broken"] += 1
            self.next_server()
            return None, 0.1
        finally:
            self.longest = max(self.longest, time.monotonic() - began)
        if response.status == 200:
            return content, 0
        seconds = response.headers.get("Retry-After")
        if response.status in (429, 503) and seconds:
            self.counts["retryable"] += 1
        else:
            self.counts[f"HTTP {response.status} {content.get('serverErrorCode')} {content.get('reason', '')}"] += 1
        self.next_server()
        return None, min(float(seconds or 1), 2) * random.uniform(0.5, 1)


class Listener:
    """A device with a push stream at one server, which it opens again when it ends."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.count = 0
        self.is_open = False
        self.ends = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while not self.ends.is_set():
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_SECONDS)
                connection.request(
                    "GET", f"/device/1/{CONTAINER}/development/push/stream", headers={"Authorization": f"Bearer {self.token}"})
                response = connection.getresponse()
                self.is_open = response.status == 200
                while self.is_open and (line := response.readline()):
                    self.count += bool(line.strip())
            except (OSError, http.client.HTTPException):
                pass
            self.is_open = False
            self.ends.wait(0.2)


class Load:
    def __init__(self, ports, token, listening_token, writers=8, followers=2):
        self.ports, self.token, self.listening_token = ports, token, listening_token
        self.listeners = []
        self.push_seconds = 0
        self.counts = collections.Counter()
        self.faults = []
        self.lock = threading.Lock()
        self.acknowledged = []
        self.times = []
        self.last_values = {}
        self.operations = 0
        self.late_pages = 0
        self.ends_writing, self.ends = threading.Event(), threading.Event()
        self.clients = []
        self.writers = [threading.Thread(target=self.guard, args=(self.write, number), daemon=True) for number in range(writers)]
        self.followers = [threading.Thread(target=self.guard, args=(self.follow, number), daemon=True) for number in range(followers)]

    def client(self, first):
        client = Client(self.ports, self.token, first, self.counts)
        self.clients.append(client)
        return client

    def guard(self, body, number):
        try:
            body(number)
        except Exception as error:  # A client that ends early is a failure of the run, whatever its reason is.
            self.fault("client", f"{body.__name__} {number}: {type(error).__name__} {error}")

    def fault(self, kind, text):
        with self.lock:
            self.faults.append((kind, text))

    def start(self):
        client = self.client(0)
        message = {"operations": [{"operationType": "create", "zone": {"zoneID": ZONE}}]}
        if client.post("zones/modify", message)[0] is None:
            raise RuntimeError(f"the zone was not made: {dict(self.counts)}")
        subscription = {"subscriptionID": "all", "subscriptionType": "database", "notificationInfo": {"shouldSendContentAvailable": True}}
        message = {"operations": [{"operationType": "create", "subscription": subscription}]}
        if client.post("subscriptions/modify", message)[0] is None:
            raise RuntimeError(f"the subscription was not made: {dict(self.counts)}")
        self.listeners = [Listener(port, self.listening_token) for port in self.ports]
        for thread in self.writers + self.followers:
            thread.start()

    def write(self, number):
        client, serial = self.client(number), 0
        while not self.ends_writing.is_set():
            serial += 1
            # Two new records, and one with a value that grows: a save that is executed twice shows up as a conflict of the creation.
            names = [f"{number}-{serial}-a", f"{number}-{serial}-b"]
            record = {"recordType": "Plant", "fields": {"value": {"value": serial}}}
            operations = [{"operationType": "create", "record": record | {"recordName": name}} for name in names]
            operations.append({"operationType": "forceUpdate", "record": record | {"recordName": f"latest-{number}"}})
            self.save(client, {"zoneID": ZONE, "atomic": True, "operations": operations})
            with self.lock:
                self.acknowledged += names
                self.times.append(time.monotonic())
                self.last_values[f"latest-{number}"] = serial
                self.operations += len(operations)
            time.sleep(PAUSE_SECONDS)

    def save(self, client, message):
        key = str(uuid.uuid4())
        while True:
            response, seconds = client.post("records/modify", message, key)
            if response is None:
                time.sleep(seconds)
                continue
            errors = [record.get("serverErrorCode") for record in response["records"] if "serverErrorCode" in record]
            if not errors:
                return
            self.fault("doubled", f"a retried save was executed twice, or failed: {errors}")
            return

    def follow(self, number):
        client, token, known, values = self.client(number), None, set(), {}
        position = (0, 0)
        while True:
            is_last = self.ends.is_set()
            with self.lock:
                count = len(self.acknowledged)
            is_complete, seconds = False, 0
            while not is_complete:
                zone = {"zoneID": ZONE} | ({"syncToken": token} if token else {})
                response, seconds = client.post("changes/zone", {"zones": [zone]})
                if response is None:
                    time.sleep(seconds)
                    continue
                page = response["zones"][0]
                if "syncToken" not in page:
                    return self.fault("token", f"a change token was rejected: {page}")
                token, is_complete = page["syncToken"], not page.get("moreComing")
                # A change token's bytes: version, subject, epoch, zone, number.
                data = bytes.fromhex(token)
                now = (int.from_bytes(data[2:10], "big"), int.from_bytes(data[18:26], "big"))
                if now < position:
                    self.fault("token", f"a change token ran backwards: {position}, then {now}")
                position = now
                for record in page["records"]:
                    name, value = record["recordName"], record["fields"]["value"]["value"]
                    if name.startswith("latest-"):
                        if value < values.get(name, 0):
                            self.fault("token", f"{name} became older: {values[name]}, then {value}")
                        values[name] = value
                    elif name in known:
                        self.fault("doubled", f"{name} arrived twice")
                    known.add(name)
            with self.lock:
                missing = [name for name in self.acknowledged[:count] if name not in known]
            if missing and not is_last:
                # Allowed for a moment, while a former primary does not know that it is one.
                self.late_pages += 1
            if is_last:
                for name in missing:
                    self.fault("lost", f"{name} was acknowledged and did not arrive")
                extra = {name for name in known if not name.startswith("latest-")} - set(self.acknowledged)
                for name in extra:
                    self.fault("doubled", f"{name} arrived and was not acknowledged")
                if values != self.last_values:
                    self.fault("lost", f"the latest values are {values} instead of {self.last_values}")
                return None
            # The other server, so that a token of one is used at the other.
            client.next_server()
            self.ends.wait(0.1)

    def end(self):
        """Waits until each save is acknowledged and each follower has all changes."""
        self.ends_writing.set()
        for thread in self.writers:
            thread.join(180)
        self.check_push()
        self.ends.set()
        for thread in self.followers:
            thread.join(60)
        for listener in self.listeners:
            listener.ends.set()
        for thread in self.writers + self.followers:
            if thread.is_alive():
                self.fault("client", "a client did not end: its request was not answered")

    def check_push(self):
        """A save at each server must reach the listener at the other one."""
        for index, listener in enumerate(reversed(self.listeners)):
            client = Client([self.ports[index]], self.token, 0, self.counts)
            # Notifications of earlier saves arrive before it.
            idle = time.monotonic() + 3
            while time.monotonic() < idle or not listener.is_open:
                if time.monotonic() > idle + PUSH_SECONDS:
                    return self.fault("push", "a push stream did not open")
                time.sleep(0.05)
            count, began = listener.count, time.monotonic()
            name = f"pushed-{index}"
            record = {"recordType": "Plant", "recordName": name, "fields": {"value": {"value": 1}}}
            self.save(client, {"zoneID": ZONE, "operations": [{"operationType": "create", "record": record}]})
            with self.lock:
                self.acknowledged.append(name)
                self.operations += 1
            while listener.count == count:
                if time.monotonic() > began + PUSH_SECONDS:
                    return self.fault("push", f"a save at server {index + 1} was not pushed at the other one")
                time.sleep(0.01)
            self.push_seconds = max(self.push_seconds, time.monotonic() - began)
        return None

    def gap(self, since):
        """The longest time without an acknowledged save after a moment."""
        times = [since] + [moment for moment in self.times if moment >= since]
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=float("inf"))

    def count(self, kind):
        return sum(1 for fault in self.faults if fault[0] == kind)

    def others(self):
        """Responses that a client of the documents would not retry, and requests without a response."""
        return {name: count for name, count in self.counts.items() if name not in ("retryable", "broken")}
