#!/usr/bin/env python3
"""Parquet with datasets.Audio through tools/parquet_manifest and `penstock data make`: texts, languages and sounds are kept, and
mistakes are told, with nothing half-written (pip install pyarrow).

  parquet_round_trip.py PENSTOCK FOLDER
"""
import json
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import pyarrow
import pyarrow.parquet

TOOL = Path(__file__).parents[2] / "tools" / "parquet_manifest"
AUDIO = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])


def wav(samples):
    data = b"".join(struct.pack("<h", i % 97) for i in range(samples))
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
            + b"data" + struct.pack("<I", len(data)) + data)


def write(path, sounds, **columns):
    audio = pyarrow.array([None if sound is None else {"bytes": sound, "path": "x"} for sound in sounds], type=AUDIO)
    pyarrow.parquet.write_table(pyarrow.table({"audio": audio, **columns}), path)
    return path


def convert(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)


def expect_refusal(folder, arguments, part):
    before = sorted(folder.iterdir())
    answer = convert(folder / "refused.jsonl", *arguments)
    assert answer.returncode == 1 and part in answer.stderr, (part, answer)
    assert sorted(folder.iterdir()) == before, "something is half-written"


def write_languages(path, sounds, languages, feature):
    """Writes languages with the note on their column's type that datasets leaves in the schema."""
    note = json.dumps({"info": {"features": {"language": feature}}})
    audio = pyarrow.array([{"bytes": sound, "path": "x"} for sound in sounds], type=AUDIO)
    table = pyarrow.table({"audio": audio, "text": ["a"] * len(sounds), "language": languages})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"huggingface": note}), path)
    return path


def check_languages(folder, sounds):
    folder.mkdir()
    classes = {"names": ["de", "en"], "_type": "ClassLabel"}
    answer = convert(folder / "out.jsonl", write_languages(folder / "classes.parquet", sounds[:4], [1, 0, -1, None], classes))
    assert answer.returncode == 0, answer
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line.get("language") for line in lines] == ["en", "de", None, None], lines
    expect_refusal(folder, [write_languages(folder / "many.parquet", sounds[:1], [2], classes)],
                   "row 0: its language 2 is none of 2 classes")
    numbers = write_languages(folder / "numbers.parquet", sounds[:1], [7], {"dtype": "int64", "_type": "Value"})
    answer = convert(folder / "numbers.jsonl", numbers)
    assert "its column language is of int64, not of texts: left out" in answer.stderr, answer
    assert "language" not in json.loads((folder / "numbers.jsonl").read_text(encoding="utf-8")), answer


def main(penstock, folder):
    folder.mkdir(parents=True)
    sounds = [wav(800 + i) for i in range(150)]  # more than two batches
    first = write(folder / "train-0.parquet", sounds, sentence=[f"text {i} ü" for i in range(150)], locale=["de", None] * 75)
    second = write(folder / "train-1.parquet", sounds[:2], sentence=["a", "b"])
    answer = convert(folder / "train.jsonl", first, second)
    assert answer.stdout.startswith("152 utterances"), answer
    lines = [json.loads(line) for line in (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["text"] for line in lines] == [f"text {i} ü" for i in range(150)] + ["a", "b"]
    assert [line.get("language") for line in lines] == ["de", None] * 75 + [None, None]
    for line, sound in zip(lines, sounds + sounds[:2]):
        tar, name = line["audio_filepath"].split(":")
        with tarfile.open(folder / tar) as archive:
            assert archive.extractfile(name).read() == sound, line
    made = subprocess.run([penstock, "data", "make", folder / "train.jsonl", "-o", folder / "made.jsonl"], capture_output=True, text=True)
    assert "152 utterances" in made.stdout, made

    answer = convert(folder / "train.jsonl", first)
    assert answer.returncode == 1 and "train-0.tar is there already: remove it" in answer.stderr, answer
    check_languages(folder / "languages", sounds)

    expect_refusal(folder, [folder / "missing.parquet"], "missing.parquet: no such file")
    (folder / "cut.parquet").write_bytes(first.read_bytes()[:1000])
    expect_refusal(folder, [folder / "cut.parquet"], "cut.parquet: is no Parquet, or cut")
    labels = write(folder / "labels.parquet", sounds[:1], label=["x"])
    expect_refusal(folder, [labels], "its columns are audio, label. Name one by --text")
    expect_refusal(folder, [labels, "--text", "txt"], "labels.parquet: has no column txt; its columns are audio, label")
    pyarrow.parquet.write_table(pyarrow.table({"file": ["x"], "text": ["y"]}), folder / "paths.parquet")
    expect_refusal(folder, [folder / "paths.parquet"], "has 0 columns of datasets.Audio, not 1; its columns are file, text")
    expect_refusal(folder, [write(folder / "none.parquet", [sounds[0], None], text=["a", "b"])], "none.parquet: row 1: has no bytes")
    expect_refusal(folder, [write(folder / "null.parquet", sounds[:2], text=["a", None])], "row 1: its text is None, not a text")
    expect_refusal(folder, [write(folder / "numbers.parquet", sounds[:1], text=[3])], "row 0: its text is 3, not a text")
    expect_refusal(folder, [write(folder / "html.parquet", [b"<html>"], text=["a"])], "begins with b'<htm', which is no WAV, FLAC")
    (folder / "other").mkdir()
    expect_refusal(folder, [first, write(folder / "other" / first.name, sounds[:1], sentence=["x"])], "two files have one name")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
    print("equal")
