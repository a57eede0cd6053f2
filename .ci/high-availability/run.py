# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Two servers on three PostgreSQL nodes under Patroni: faults under write load, and what they cost.

usage: run.py --tarn PROGRAM --patroni PROGRAM [--faults NAME,...] [--freeze SECONDS] [--keep]

Each fault has a run of its own, with a database of its own: load, fault, end of the fault, load until the cluster is complete again. Then
each acknowledged save must be in the zone once. Exit code 1 if one is lost or executed twice, if a change token runs backwards, or
if a response is neither a success nor retryable.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import LOOP_WAIT, RETRY_TIMEOUT, TTL, Cluster, Failure, descendants, send, wait
from load import Load

WARM_UP_SECONDS = 8
AFTER_SECONDS = 10


class Server:
    """A process of `tarn serve`."""

    def __init__(self, tarn, folder, database, name):
        self.tarn, self.folder, self.database, self.name = tarn, folder, database, name
        self.port, self.process = 0, None

    def start(self):
        with open(os.path.join(self.folder, f"{self.name}.log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.tarn, "serve", "--data", os.path.join(self.folder, "assets"), "--database", self.database, "--port",
                 str(self.port), "--exit-with-parent"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if "listening on" not in line:
            raise Failure(f"{self.name} did not start: {self.last_log()}")
        self.port = int(line.rsplit(":", 1)[1])

    def last_log(self):
        with open(os.path.join(self.folder, f"{self.name}.log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def end(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failure(f"{self.name} did not end within 40 s") from None


class Run:
    """One fault: what it did, and when."""

    def __init__(self, cluster, servers, freeze):
        self.cluster, self.servers, self.freeze = cluster, servers, freeze
        self.leader = cluster.leader()
        self.began = 0
        self.new_leader = None

    def expect_other_leader(self, seconds):
        def other():
            leader = self.cluster.leader()
            return leader if leader and leader is not self.leader else None
        wait("another leader", other, seconds)
        self.new_leader = time.monotonic() - self.began

    def kill_leader(self):
        send(self.leader.process.pid, signal.SIGKILL)
        send(self.leader.postmaster(), signal.SIGKILL)
        self.leader.process.wait()
        self.expect_other_leader(90)
        self.leader.start()

    def kill_postmaster(self):
        send(self.leader.postmaster(), signal.SIGKILL)

    def freeze_patroni(self):
        self.hold([self.leader.process.pid])

    def freeze_postgres(self):
        # The postmaster first: it starts no process any more.
        self.hold(descendants(self.leader.postmaster()))

    def hold(self, pids):
        for pid in pids:
            send(pid, signal.SIGSTOP)
        try:
            self.expect_other_leader(self.freeze)
            time.sleep(max(0, self.began + self.freeze - time.monotonic()))
        finally:
            for pid in pids:
                send(pid, signal.SIGCONT)

    def kill_server(self):
        self.servers[0].end(signal.SIGKILL)
        time.sleep(AFTER_SECONDS)
        self.servers[0].start()

    def restart_servers(self):
        for server in self.servers:
            server.end()
            server.start()
            time.sleep(3)


FAULTS = {
    "kill-leader": (Run.kill_leader, "`kill -9` of the leader: Patroni and PostgreSQL"),
    "kill-postmaster": (Run.kill_postmaster, "`kill -9` of the leader's postmaster"),
    "freeze-patroni": (Run.freeze_patroni, "SIGSTOP of the leader's Patroni"),
    "freeze-postgres": (Run.freeze_postgres, "SIGSTOP of the leader's PostgreSQL"),
    "kill-server": (Run.kill_server, "`kill -9` of one `tarn serve`"),
    "restart-servers": (Run.restart_servers, "SIGTERM and start of both `tarn serve`, one after the other"),
}


def execute(name, cluster, arguments, folder):
    leader = cluster.wait_until_healthy(120)
    database = name.replace("-", "_")
    cluster.sql(f"CREATE DATABASE {database} OWNER tarn", leader)
    address = cluster.address(database) + (f"?{arguments.parameters}" if arguments.parameters else "")
    place = os.path.join(folder, database)
    os.makedirs(os.path.join(place, "assets"))
    tokens = []
    for command in (["add", "mia"], ["token", "mia", "--device", "listener"]):
        made = subprocess.run(
            [arguments.tarn, "user", *command, "--data", os.path.join(place, "assets"), "--database", address],
            capture_output=True, text=True, check=False)
        if made.returncode:
            raise Failure(f"no token: {made.stderr}")
        tokens.append(made.stdout.split()[-1])
    servers = [Server(arguments.tarn, place, address, f"server{index + 1}") for index in range(2)]
    load = None
    try:
        for server in servers:
            server.start()
        load = Load([server.port for server in servers], *tokens)
        load.start()
        time.sleep(WARM_UP_SECONDS)
        run = Run(cluster, servers, arguments.freeze)
        run.began = time.monotonic()
        FAULTS[name][0](run)
        time.sleep(AFTER_SECONDS)
        cluster.wait_until_healthy(180)
        load.end()
        check_counter(cluster, database, load)
    finally:
        if load:
            load.ends_writing.set()
            load.ends.set()
        for server in servers:
            server.end()
    return run, load


def check_counter(cluster, database, load):
    """Each operation takes one number of the partition, and the zone another one: more numbers are saves that were executed twice."""
    counter = int(cluster.sql("SELECT counter FROM partitions WHERE scope = 'private'", database=database))
    if counter != load.operations + 1:
        load.fault("doubled" if counter > load.operations + 1 else "lost", f"{counter} changes for {load.operations} operations and a zone")


def row(name, run, load):
    others = load.others()
    leader = "" if run.new_leader is None else f"{run.new_leader:.1f} s"
    cells = [
        FAULTS[name][1], f"{len(load.times):,}", load.count("lost"), load.count("doubled"), load.count("token"), load.late_pages,
        load.count("push") or f"{load.push_seconds:.1f} s",
        load.counts["retryable"], load.counts["broken"], sum(others.values()), leader, f"{load.gap(run.began):.1f} s",
        f"{max(client.longest for client in load.clients):.1f} s",
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


HEAD = [
    "fault", "saves acknowledged", "lost", "doubled", "tokens backwards", "late pages", "push", "retryable responses", "connections broken",
    "other failures", "new leader", "longest gap", "longest request",
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tarn", required=True)
    parser.add_argument("--patroni", required=True)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--freeze", type=float, default=45, help="seconds for which a process is frozen")
    parser.add_argument("--parameters", help="of the database's address, such as target_session_attrs=primary")
    parser.add_argument("--keep", action="store_true", help="leave logs and data in their folder")
    arguments = parser.parse_args()
    names = arguments.faults.split(",")
    if unknown := [name for name in names if name not in FAULTS]:
        parser.error(f"no such fault: {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    # An interrupted run ends its processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="tarn-ha-")
    os.chmod(folder, 0o755)
    has_failed = False
    cluster = Cluster(folder, arguments.patroni)
    try:
        began = time.monotonic()
        cluster.start()
        cluster.sql("CREATE ROLE tarn LOGIN")
        print(", ".join(f"{program} {version}" for program, version in cluster.versions().items()), flush=True)
        print(f"ttl {TTL}, loop_wait {LOOP_WAIT}, retry_timeout {RETRY_TIMEOUT}, synchronous_mode_strict; "
              f"complete after {time.monotonic() - began:.0f} s", flush=True)
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
        for name in names:
            try:
                run, load = execute(name, cluster, arguments, folder)
            except Failure as failure:
                has_failed = True
                print(f"{name}: {failure}", file=sys.stderr, flush=True)
                continue
            print(row(name, run, load), flush=True)
            for kind, text in load.faults[:20]:
                print(f"{name}: {kind}: {text}", file=sys.stderr, flush=True)
            for text, count in load.others().items():
                print(f"{name}: {count} × {text}", file=sys.stderr, flush=True)
            has_failed = has_failed or bool(load.faults) or bool(load.others())
    finally:
        cluster.end()
        if arguments.keep:
            print(f"logs and data: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
