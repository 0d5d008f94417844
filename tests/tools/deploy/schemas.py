"""Schemas of the manifests of tools/deploy, each as strict as `kubectl --validate=strict`: unknown fields are errors.

Pods, TrainJobs and TrainingRuntimes are described by the models that Kubeflow publishes (PyPI: kubeflow-trainer-api). Those
know no MPIJob, whose own fields mpijob.schema.json has. SkyPilot publishes its schemas in its package (PyPI: skypilot)."""
import functools
import importlib.metadata
import json
import pathlib
import sys
import types

import jsonschema
import pydantic
import yaml
from kubeflow_trainer_api import models

SKYPILOT = importlib.metadata.distribution("skypilot")
HERE = pathlib.Path(__file__).resolve().parent
# Values of several types. The models have wrappers for them that JSON Schema can't express.
FREE = {"IoK8sApimachineryPkgApiResourceQuantity": {"type": ["string", "number"]},
        "IoK8sApimachineryPkgUtilIntstrIntOrString": {"type": ["string", "integer"]}}


def close(schema):
    """Refuses unknown fields in every object whose fields the schema lists."""
    if isinstance(schema, list):
        for part in schema:
            close(part)
    elif isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            close(part)
    return schema


@functools.cache
def schema_for(model):
    schema = pydantic.TypeAdapter(model).json_schema(by_alias=True)
    schema["$defs"].update({name: free for name, free in FREE.items() if name in schema["$defs"]})
    return close(schema)


@functools.cache
def mpi_job():
    schema = json.loads((HERE / "mpijob.schema.json").read_text())
    pods = schema_for(models.IoK8sApiCoreV1PodTemplateSpec)
    schema["$defs"].update(pods.pop("$defs"))
    schema["$defs"]["IoK8sApiCoreV1PodTemplateSpec"] = pods
    return schema


@functools.cache
def skypilot():
    """SkyPilot's module of schemas, without the 60 packages that all of SkyPilot imports."""

    def module(name, **members):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)

    module("sky", __path__=[str(SKYPILOT.locate_file("sky"))], __version__=SKYPILOT.version, __commit__="")
    module("sky.skylet.autostop_lib", AutostopWaitFor=types.SimpleNamespace(supported_modes=lambda: []))
    module("sky.server")
    module("sky.server.daemons", INTERNAL_REQUEST_DAEMONS=[])
    module("sky.setup_files")
    module("sky.setup_files.dependencies", __getattr__=lambda name: "")
    from sky.utils import schemas
    return schemas


def fault_in(value, schema):
    """What is wrong with the value, or None."""
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    return error and f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"


def fault_in_manifest(text):
    """The first fault in the documents of a manifest, or None."""
    kinds = {"MPIJob": mpi_job, "TrainJob": lambda: schema_for(models.TrainerV1alpha1TrainJob),
             "TrainingRuntime": lambda: schema_for(models.TrainerV1alpha1TrainingRuntime)}
    for document in yaml.safe_load_all(text):
        if "kind" not in document:
            schemas = skypilot()
            fault = fault_in(document, schemas.get_task_schema())
            fault = fault or fault_in(document["resources"], close(schemas.get_resources_schema()))
        elif document["kind"] not in kinds:
            fault = f"{document['kind']} is none of {', '.join(kinds)}"
        else:
            fault = fault_in(document, kinds[document["kind"]]())
        if fault:
            return f"{document.get('kind', 'SkyPilot task')}: {fault}"
    return None
