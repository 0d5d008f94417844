"""Containers as tools/deploy/*.yaml describes them, with what their operators add."""
import pathlib

import yaml

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "tools/deploy"
SLOTS = "1"  # a rank for each worker: this machine has few cores


def container(spec, environment):
    fixed = {e["name"]: e.get("value", "of-a-secret") for e in spec.get("env", [])}
    hook = spec.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command")
    return {"command": spec["command"] + spec.get("args", []), "stop": hook, "user": spec["securityContext"]["runAsUser"],
            "environment": fixed | environment}


def open_mpi():
    """What both operators set in the launcher."""
    return {"OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
            "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10", "OMPI_MCA_orte_set_default_slots": SLOTS}


def read_mpi_job():
    """The launcher, the worker, and the workers' names, of which the launcher's DNS knows the long ones."""
    job = yaml.safe_load((FOLDER / "mpijob.yaml").read_text())
    replicas = {role: spec["template"]["spec"]["containers"][0] for role, spec in job["spec"]["mpiReplicaSpecs"].items()}
    name = job["metadata"]["name"]
    return {"launcher": container(replicas["Launcher"], {"K_MPI_JOB_ROLE": "launcher"} | open_mpi()),
            "worker": container(replicas["Worker"], {"K_MPI_JOB_ROLE": "worker"}),
            "launcher name": f"{name}-launcher",
            "workers": [f"{name}-worker-{i}.{name}.default.svc" for i in range(3)],
            "discovers": True}


def read_train_job():
    """The same of a TrainJob. Its hostfile always lists all nodes."""
    job, runtime = yaml.safe_load_all((FOLDER / "trainjob.yaml").read_text())
    jobs = {j["name"]: j["template"]["spec"]["template"]["spec"]["containers"][0]
            for j in runtime["spec"]["template"]["spec"]["replicatedJobs"]}
    name, trainer = job["metadata"]["name"], job["spec"]["trainer"]
    launcher = jobs["launcher"] | {key: trainer[key] for key in ("command", "args")}
    return {"launcher": container(launcher, open_mpi()),
            "worker": container(jobs["node"], {}),
            "launcher name": f"{name}-launcher-0-0",
            "workers": [f"{name}-node-0-{i}.{name}" for i in range(3)],
            "discovers": False}


def read_skypilot():
    """The script that every node runs."""
    return yaml.safe_load((FOLDER / "skypilot.yaml").read_text())["run"]
