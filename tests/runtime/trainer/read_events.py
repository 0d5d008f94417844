"""Compares the event files of an output folder with its metrics.jsonl, as TensorBoard's two readers show them.

    python3 read_events.py OUTPUT STARTS

STARTS is how often the run was started: it has so many event files, and so many recipes. One reader is in
Python. The other, of the package tensorboard-data-server, is what tensorboard starts if it is installed.
"""

import json
import struct
import sys
import time
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.data import server_ingester
from tensorboard.util import grpc_util


def as_float(number):
    """Rounds to single precision, as event files do. JSON has null for a NaN."""
    return None if number is None else struct.unpack("f", struct.pack("f", number))[0]


def expected_points(output):
    """Returns the points of each tag that metrics.jsonl has, by step."""
    points = {}
    for line in (output / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        step = record.pop("step")
        record.pop("loss_hex", None)
        for part in record.pop("validation_manifests", []):
            for rate in ("wer", "cer"):
                points.setdefault(f"validation/{rate}/{part['manifest']}", []).append((step, as_float(part[rate])))
        for key, value in record.items():
            group, name = ("validation", key[11:]) if key.startswith("validation_") else ("train", key)
            points.setdefault(f"{group}/{name}", []).append((step, as_float(value)))
    return points


def points_by_python(output):
    reader = EventAccumulator(str(output), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    points = {tag: [(each.step, each.value) for each in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}
    return points, reader.Tensors("recipe")


def start_data_server(output):
    server = server_ingester.SubprocessServerDataIngester(
        server_binary=server_ingester.get_server_binary(),
        logdir=str(output),
        reload_interval=1,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
    )
    server.start()
    return server.data_provider


def points_of(data_provider):
    scalars = data_provider.read_scalars(
        RequestContext(), experiment_id="", plugin_name="scalars", downsample=10000
    )
    return {tag: [(each.step, each.value) for each in points] for tag, points in scalars.get(".", {}).items()}


def main(output, starts):
    files = list(output.glob("events.out.tfevents.*"))
    assert len(files) == starts, files
    expected = expected_points(output)
    assert "train/loss" in expected and "validation/wer" in expected, expected.keys()
    shown, texts = points_by_python(output)
    assert shown == expected, (shown, expected)
    assert len(texts) == starts, texts
    assert b"    trainer.steps = " in texts[-1].tensor_proto.string_val[0], texts[-1]
    server = start_data_server(output)
    given_up = time.monotonic() + 60  # it answers before it has read all
    while (served := points_of(server)) != expected and time.monotonic() < given_up:
        time.sleep(0.1)
    assert served == expected, (served, expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
