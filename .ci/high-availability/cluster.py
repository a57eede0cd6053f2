# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""One etcd and three PostgreSQL nodes under Patroni, on loopback, in a folder of their own.

No fault touches etcd, so one process of it is enough here: etcd's own availability is etcd's to prove, and two more processes would
take processor time from the nodes. A deployment has three.
"""

import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 5, 5
SETTINGS = {
    "ttl": TTL, "loop_wait": LOOP_WAIT, "retry_timeout": RETRY_TIMEOUT, "maximum_lag_on_failover": 1048576,
    "synchronous_mode": True, "synchronous_mode_strict": True,
    "postgresql": {"use_pg_rewind": True, "parameters": {
        "max_connections": 150, "wal_log_hints": "on", "wal_retrieve_retry_interval": "1s", "recovery_init_sync_method": "syncfs"}},
}


class Failure(Exception):
    pass


def wait(what, condition, seconds):
    """Polls until the condition holds, and returns its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise Failure(f"timeout after {seconds} s: {what}")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for entry in sockets:
            entry.bind(("127.0.0.1", 0))
        return [entry.getsockname()[1] for entry in sockets]
    finally:
        for entry in sockets:
            entry.close()


def as_server(command):
    """PostgreSQL does not run as root. `su` would be stopped with its child; the processes end with this one."""
    user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *user, "--pdeathsig=TERM", *command]


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def descendants(pid):
    """A process and the processes below it, parents first."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.split("/")[2]))
    found, queue = [], [pid]
    while queue:
        found.append(queue[0])
        queue += parents.get(queue.pop(0), [])
    return found


class Node:
    def __init__(self, name, folder, programs, patroni, port, api, etcd):
        self.name, self.port, self.api, self.patroni = name, port, api, patroni
        self.folder = os.path.join(folder, name)
        self.data = os.path.join(self.folder, "data")
        self.programs = programs
        os.mkdir(self.folder, 0o700)
        self.process = None
        settings = {
            "scope": "tarn", "name": name,
            "restapi": {"listen": f"127.0.0.1:{api}", "connect_address": f"127.0.0.1:{api}"},
            "etcd3": {"hosts": [f"127.0.0.1:{etcd}"]},
            "bootstrap": {"dcs": SETTINGS, "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"]},
            "postgresql": {
                "listen": f"127.0.0.1:{port}", "connect_address": f"127.0.0.1:{port}", "data_dir": self.data, "bin_dir": programs,
                "pgpass": os.path.join(self.folder, "pgpass"),
                "authentication": {"replication": {"username": "replicator"}, "superuser": {"username": "postgres"}},
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
                "parameters": {"unix_socket_directories": self.folder},
            },
        }
        self.settings = os.path.join(self.folder, "patroni.yml")
        # JSON is YAML.
        with open(self.settings, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        if os.getuid() == 0:
            entry = pwd.getpwnam("postgres")
            for path in (self.folder, self.settings):
                os.chown(path, entry.pw_uid, entry.pw_gid)

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                as_server([self.patroni, self.settings]), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                start_new_session=True)

    def postmaster(self):
        """The process ID of PostgreSQL; None if it does not run."""
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                pid = int(file.readline())
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                return pid if self.data in file.read() else None
        except (OSError, ValueError):
            return None

    def state(self):
        """What Patroni says about the node; None without an answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}/patroni", timeout=1) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return json.load(error)
        except (OSError, ValueError):
            return None

    def end(self):
        pids = [pid for pid in (self.process and self.process.pid, self.postmaster()) if pid]
        for pid in [pid for start in pids for pid in descendants(start)]:
            send(pid, signal.SIGCONT)
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if postmaster := self.postmaster():
            send(postmaster, signal.SIGQUIT)
            wait("PostgreSQL ends", lambda: self.postmaster() is None, 10)


class Cluster:
    def __init__(self, folder, patroni):
        versions = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
        if not versions:
            raise Failure("PostgreSQL is not installed: apt-get install postgresql")
        self.programs = os.path.dirname(versions[-1])
        self.folder, self.patroni = folder, patroni
        self.etcd_port, peer, *ports = free_ports(8)
        self.etcd_data = os.path.join(folder, "etcd")
        os.mkdir(self.etcd_data, 0o700)
        if os.getuid() == 0:
            shutil.chown(self.etcd_data, "postgres", "postgres")
        client, own = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{peer}"
        self.etcd_command = as_server([
            "etcd", "--name", "etcd1", "--data-dir", self.etcd_data, "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", own, "--initial-advertise-peer-urls", own, "--initial-cluster", f"etcd1={own}", "--logger", "zap",
            "--heartbeat-interval", "300", "--election-timeout", "3000"])
        self.etcd = None
        self.nodes = [
            Node(f"node{index + 1}", folder, self.programs, patroni, ports[index], ports[index + 3], self.etcd_port) for index in range(3)]

    def versions(self):
        def run(*command):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {
            "PostgreSQL": run(f"{self.programs}/postgres", "--version").split()[2],
            "Patroni": run(self.patroni, "--version").split()[1],
            "etcd": run("etcd", "--version").split()[2],
        }

    def start(self):
        with open(os.path.join(self.folder, "etcd.log"), "ab") as log:
            self.etcd = subprocess.Popen(
                self.etcd_command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True)
        for node in self.nodes:
            node.start()
        self.wait_until_healthy(180)

    def leader(self):
        """The node that has the leader's key and runs as the primary; None without one."""
        for node in self.nodes:
            state = node.state()
            if state and state.get("role") in ("primary", "master") and state.get("state") == "running":
                return node
        return None

    def is_healthy(self):
        """A primary with two streaming standbys, one of them synchronous."""
        leader = self.leader()
        if not leader:
            return None
        try:
            states = self.sql("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'", leader).split()
        except Failure:
            return None
        return leader if len(states) == 2 and "sync" in states else None

    def wait_until_healthy(self, seconds):
        return wait("a primary with a synchronous standby and another one", self.is_healthy, seconds)

    def sql(self, statement, node=None, database="postgres"):
        node = node or self.leader()
        if not node:
            raise Failure("the cluster has no leader")
        try:
            run = subprocess.run(
                [f"{self.programs}/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(node.port),
                 "-U", "postgres", "-d", database, "-c", statement],
                capture_output=True, text=True, timeout=20, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"psql did not end: {statement}") from error
        if run.returncode:
            raise Failure(f"psql: {run.stderr}")
        return run.stdout.strip()

    def address(self, database):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgres://tarn@{hosts}/{database}"

    def end(self):
        for node in self.nodes:
            node.end()
        if self.etcd:
            self.etcd.terminate()
            self.etcd.wait(20)
