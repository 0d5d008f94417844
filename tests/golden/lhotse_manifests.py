#!/usr/bin/env python3
"""Writes lhotse_manifests/: manifests as Lhotse writes them, and what it makes of them (pip install lhotse==1.33.0 urllib3 torch).

A line of expected.jsonl is [source, start, duration, text, language], for each supervision of cuts and supervisions.
"""
import json
import os
import pathlib
import tempfile

import numpy
import soundfile
from lhotse import CutSet, Features, MonoCut, Recording, RecordingSet, SupervisionSegment, SupervisionSet
from lhotse.audio import AudioSource

FOLDER = pathlib.Path(__file__).resolve().with_suffix("")
FOLDER.mkdir(exist_ok=True)
os.chdir(tempfile.mkdtemp())
pathlib.Path("audio").mkdir()
for name, seconds, channels in [("a", 2.5, 1), ("b", 0.7, 1), ("stereo", 0.5, 2)]:
    soundfile.write(f"audio/{name}.wav", numpy.zeros((int(8000 * seconds), channels), dtype="int16"), 8000)
mono = RecordingSet.from_recordings(Recording.from_file(f"audio/{name}.wav") for name in "ab")
supervisions = SupervisionSet.from_segments([
    SupervisionSegment("a-0", "a", start=0.25, duration=0.4, text="ONE ", language="English", speaker="x"),
    SupervisionSegment("a-1", "a", start=1.1, duration=1.3125, text="TWO, THREE"),
    SupervisionSegment("b-0", "b", start=0, duration=0.7, text="VIER", language="de"),
])


def write(name, items):
    items.to_file(str(FOLDER / name))


write("digits_recordings_train.jsonl.gz", mono)
write("digits_supervisions_train.jsonl.gz", supervisions)
cuts = CutSet.from_manifests(mono, supervisions).to_eager()
write("digits_cuts_train.jsonl.gz", cuts)
trimmed = cuts.trim_to_supervisions(keep_overlapping=False).to_eager()
write("trimmed.jsonl", trimmed)
write("resampled.jsonl", cuts.resample(16000))
(FOLDER / "expected.jsonl").write_text("".join(
    json.dumps([cut.recording.sources[0].source, cut.start, cut.duration, supervision.text, supervision.language]) + "\n"
    for cut in trimmed for supervision in cut.supervisions))

# What penstock refuses by name.
cut = cuts[0]
stereo = Recording.from_file("audio/stereo.wav").to_cut()
stereo.supervisions = [SupervisionSegment("s", "stereo", 0, 0.5, channel=[0, 1], text="FIVE")]
command = Recording("c", [AudioSource("command", [0], "sox a.mp3 -t wav -")], 8000, 20000, 2.5)
parts = Recording("p", [AudioSource("file", [0], "l.wav"), AudioSource("file", [1], "r.wav")], 8000, 20000, 2.5)
features = Features("fbank", 10, 80, 0.01, 8000, 0, 2.5, "lilcom_chunky", "feats", "0")

(FOLDER / "shar").mkdir(exist_ok=True)
CutSet.from_cuts([cut]).to_shar(FOLDER / "shar", fields={"recording": "flac"})
(FOLDER / "shar" / "cuts.000000.jsonl.gz").rename(FOLDER / "shar.jsonl.gz")
(FOLDER / "shar" / "recording.000000.tar").unlink()
pathlib.Path(FOLDER, "shar").rmdir()
write("mistakes.jsonl", CutSet.from_cuts([
    cut.perturb_speed(0.9),
    cut.perturb_volume(2.0),
    cut.pad(3.0),
    cut.append(cuts[1]),
    cut.pad(3.0).tracks[1].cut,
    stereo,
    stereo.to_mono()[1],
    cut.truncate(duration=0.5, keep_excessive_supervisions=True),
    cut.drop_supervisions(),
    MonoCut("f", 0, 2.5, 0, supervisions=cut.supervisions, features=features),
    MonoCut("c", 0, 2.5, 0, supervisions=cut.supervisions, recording=command),
    MonoCut("p", 0, 2.5, 0, supervisions=cut.supervisions, recording=parts),
    cut.map_supervisions(lambda supervision: SupervisionSegment("n", "a", 0, 1)),
]))
write("array.json", mono)
