"""open_shards.py CHECKPOINT EXPECTED: opens a checkpoint's shards by Hugging Face's safetensors.

Each line of EXPECTED is an array of JSON: shard, name, dtype, shape, bytes in hexadecimal. The shards must hold these
tensors and no others.
"""

import json
import pathlib
import sys

import safetensors

checkpoint, expected = sys.argv[1:]
held = set()
for shard in sorted(pathlib.Path(checkpoint).glob("*.safetensors")):
    for name, tensor in safetensors.deserialize(shard.read_bytes()):
        held.add((shard.name, name, tensor["dtype"], tuple(tensor["shape"]), bytes(tensor["data"]).hex()))

wanted = set()
with open(expected) as lines:
    for line in lines:
        shard, name, dtype, shape, data = json.loads(line)
        wanted.add((shard, name, dtype, tuple(shape), data))

for kind, tensors in (("missing", wanted - held), ("unexpected", held - wanted)):
    for tensor in sorted(tensors):
        print(kind, *tensor[:4], tensor[4][:32])
print(len(held), "tensors")
sys.exit(0 if held == wanted else 1)
