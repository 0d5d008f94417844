"""What equal trainings have in common, read from their output folders without penstock."""
import json
import struct


def tensors(checkpoint):
    """Bytes of every tensor, by name and part."""
    found = {}
    for shard in sorted(checkpoint.glob("*.safetensors")):
        data = shard.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        for name, tensor in header.items():
            if name != "__metadata__":
                begin, end = tensor["data_offsets"]
                found[name] = (tensor["dtype"], tensor["shape"], data[8 + length + begin:8 + length + end])
    return found


def losses(output):
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["loss_hex"] for line in lines if "loss_hex" in line}


def newest(output):
    return max((int(c.name[-9:]) for c in output.glob("checkpoint-" + "[0-9]" * 9)), default=0)


def record(output):
    """What equal trainings have in common."""
    return losses(output), tensors(output / f"checkpoint-{newest(output):09d}")
