"""Starts OpenStack Swift with its S3 interface on this machine: one process of each server, one copy of everything.

It takes Debian's swift-proxy, swift-account, swift-container, swift-object and memcached, and a file system with extended
attributes. Everything lies in a folder of its own, except /etc/swift/swift.conf, which Debian's package brings.
"""
import getpass, shutil, socket, subprocess, tempfile, time
from pathlib import Path

PROGRAMS = ("swift-ring-builder", "swift-proxy-server", "swift-account-server", "swift-container-server",
            "swift-object-server", "memcached")

COMMON = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
fallocate_reserve = 0
log_level = ERROR
log_address = {folder}/no-log
"""
STORAGE = COMMON + """
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
PROXY = COMMON + """
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcache}
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{name} = {secret} .admin
[filter:slo]
use = egg:swift#slo
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def missing():
    """Returns the programs that are missing."""
    return [program for program in PROGRAMS if not shutil.which(program)]


def start(key, secret):
    """Starts the servers for the key ACCOUNT:NAME. Returns the port and a function that stops them."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-swift-"))
    (folder / "devices/disk").mkdir(parents=True)
    account, name = key.split(":")
    values = {"folder": folder, "user": getpass.getuser(), "account": account, "name": name, "secret": secret,
              "memcache": free_port()}
    children = [subprocess.Popen(["memcached", "-u", values["user"], "-l", "127.0.0.1", "-p", str(values["memcache"])])]
    for kind in ("account", "container", "object", "proxy"):
        port = free_port()
        if kind != "proxy":
            for command in (["create", "4", "1", "1"], ["add", f"r1z1-127.0.0.1:{port}/disk", "1"], ["rebalance"]):
                subprocess.run(["swift-ring-builder", folder / f"{kind}.builder", *command], check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        conf = folder / f"{kind}.conf"
        conf.write_text((PROXY if kind == "proxy" else STORAGE).format(port=port, kind=kind, **values))
        children.append(subprocess.Popen([f"swift-{kind}-server", str(conf)]))

    def stop():
        for child in children:
            child.terminate()
        for child in children:
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)

    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return port, stop
        except OSError:
            time.sleep(0.1)
    stop()
    raise RuntimeError("Swift does not start")
