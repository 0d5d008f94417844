"""What onnx_logits.py and sherpa_texts.py share: sounds, and commands that must succeed."""
import struct
import subprocess
import wave

import numpy as np


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_sound(file, numbers):
    """Writes samples of 16 kHz, whole numbers. Returns the file."""
    with wave.open(str(file), "wb") as sound:
        sound.setparams((1, 2, 16000, len(numbers), "NONE", ""))
        sound.writeframes(struct.pack(f"<{len(numbers)}h", *numbers))
    return file


def save_sound(file, samples, rng):
    """Writes noise that fades to silence. Returns the file."""
    return write_sound(file, [int(rng.randint(-9000, 9000) * (1 - i / samples) ** 3) for i in range(samples)])


def samples_in(file):
    """The samples of a file of 16 bits, within ±1."""
    with wave.open(str(file)) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32) / 32768
