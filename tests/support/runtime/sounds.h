#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace penstock::test {

/// How a sound file is written; `format` is a sum of libsndfile's SF_FORMAT_… .
struct SoundFormat {
  int format = 0x010002;  // WAV of 16 bits
  int rate = 16000;
  int channels = 1;
};

/// A tone that rises, different for every `seed`.
std::vector<float> make_sound(std::int64_t samples, unsigned seed = 1);

/// Writes interleaved samples. False if this libsndfile cannot write the format.
bool write_sound(const std::filesystem::path& file, std::span<const float> samples,
                 const SoundFormat& = {});

}  // namespace penstock::test
