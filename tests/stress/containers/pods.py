"""Pods without Kubernetes: processes on the root of an image, with namespaces and a network address of their own.

A pod's command is process 1, as the user and with the environment that its manifest says. It is ended as kubelet does: the
preStop hook, then SIGTERM. All pods hang on one switch, and know each other by the names that the operators give them."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SWITCH = "penstock-switch"
PREPARE = r"""
mount -t overlay overlay -o "lowerdir=$layers,upperdir=$folder/changes,workdir=$folder/work" "$folder/root"
mount -t proc proc "$folder/root/proc"
mount -t sysfs sysfs "$folder/root/sys"
mount --rbind /dev "$folder/root/dev"
mount -t tmpfs tmpfs "$folder/root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$folder/root/tmp"
for volume in $volumes; do
  at=$folder/root${volume#*:}
  if [ -d "${volume%%:*}" ]; then mkdir -p "$at"; else touch "$at"; fi
  mount --bind "${volume%%:*}" "$at"
done
hostname "$name"
exec chroot "$folder/root" "$@"
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def why_not():
    """Why pods can't be made here, or None."""
    if os.geteuid() != 0:
        return "namespaces need root"
    lacking = [tool for tool in ("ip", "unshare", "nsenter", "setpriv") if not shutil.which(tool)]
    if lacking:
        return f"there is no {' '.join(lacking)} (packages iproute2, util-linux)"
    if subprocess.run(["ip", "netns", "add", SWITCH], stderr=subprocess.DEVNULL).returncode != 0:
        return f"the kernel allows no network namespace here, or another test has {SWITCH}"
    run("ip", "netns", "del", SWITCH)
    return None


class Network:
    """The switch, and the file of all hosts' names."""

    def __init__(self, folder, names):
        self.hosts = folder / "hosts"
        self.addresses = {name.split(".")[0]: f"10.78.0.{i + 2}" for i, name in enumerate(names)}
        lines = [f"{self.addresses[name.split('.')[0]]} {name} {name.split('.')[0]}" for name in names]
        self.hosts.write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
        run("ip", "netns", "add", SWITCH)
        run("ip", "-n", SWITCH, "link", "add", "switch", "type", "bridge")
        run("ip", "-n", SWITCH, "link", "set", "switch", "up")

    def namespace(self, name):
        return f"penstock-pod-{self.addresses[name].rsplit('.', 1)[1]}"

    def join(self, name):
        space, port = self.namespace(name), f"port-{self.addresses[name].rsplit('.', 1)[1]}"
        self.leave(name)
        run("ip", "netns", "add", space)
        run("ip", "-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", SWITCH)
        run("ip", "-n", SWITCH, "link", "set", port, "master", "switch", "up")
        run("ip", "-n", space, "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            run("ip", "-n", space, "link", "set", link, "up")

    def leave(self, name):
        subprocess.run(["ip", "netns", "del", self.namespace(name)], stderr=subprocess.DEVNULL)

    def close(self):
        for name in self.addresses:
            self.leave(name)
        subprocess.run(["ip", "netns", "del", SWITCH], stderr=subprocess.DEVNULL)


class Pod:
    """A pod that runs. `container` has command, stop, user and environment; `volumes` are host path, colon, mount path."""

    def __init__(self, network, layers, folder, name, container, volumes):
        self.network, self.name, self.container = network, name, container
        folder = folder / f"pod-{name}-{time.monotonic_ns()}"
        for part in ("changes", "work", "root"):
            (folder / part).mkdir(parents=True)
        self.log = folder / "log"
        network.join(name)
        environment = {"layers": layers, "folder": str(folder), "name": name, "PATH": SEARCH,
                       "volumes": " ".join([*volumes, f"{network.hosts}:/etc/hosts"])}
        words = ["ip", "netns", "exec", network.namespace(name), "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork",
                 "bash", "-euc", PREPARE, "bash", *self.inside(container["command"])]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)

    def inside(self, command):
        user = str(self.container["user"])
        home = "/root" if user == "0" else "/home/mpiuser"
        environment = {"PATH": SEARCH, "HOME": home, "HOSTNAME": self.name} | self.container["environment"]
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", "-i", "-C", home,
                *(f"{key}={value}" for key, value in environment.items()), *command]

    def first_process(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while self.process.poll() is None and not children.read_text():
            time.sleep(0.01)
        return int(children.read_text().split()[0])

    def execute(self, command):
        """Runs a command in the pod, as hooks and `kubectl exec` do; returns what it printed."""
        words = ["nsenter", "--target", str(self.first_process()), "--mount", "--uts", "--ipc", "--net", "--pid", "--root",
                 "--wd", *self.inside(command)]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)

    def terminate(self):
        """Asks process 1 to end, after the hook; returns the pod's exit code."""
        if self.container["stop"]:
            hook = self.execute(self.container["stop"])
            if hook.returncode != 0:
                raise RuntimeError(f"the preStop hook of {self.name} failed: {hook.stdout}")
        os.kill(self.first_process(), signal.SIGTERM)
        return self.wait()

    def wait(self, seconds=120):
        code = self.process.wait(seconds)
        self.network.leave(self.name)
        return code

    def lose(self):
        """Ends the pod as a machine that loses its power does. All its processes end with the first."""
        if self.process.poll() is None:
            os.kill(self.first_process(), signal.SIGKILL)
            self.wait()

    def said(self, text):
        """How often the log has the text."""
        return self.log.read_text().count(text)
