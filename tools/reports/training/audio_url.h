#pragma once

#include <span>
#include <string>

#include "tools/reports/training/judged_results.h"

namespace penstock::tools {

inline constexpr double kHeardSeconds = 20;  // of an utterance, at most
inline constexpr int kHeardRate = 16000;     // samples a second, at most

/// Returns samples, from -1 to 1, as the bytes of a WAV file of one channel and 16 bits. Louder
/// samples are cut off.
[[nodiscard]] std::string wav_bytes(std::span<const float> samples, int rate);

/// Returns an utterance's recording as a data URL that an audio element plays. Its length and its
/// rate have bounds, kHeardSeconds and kHeardRate, so it has less than 900 KB. DataError as
/// runtime::read_audio().
[[nodiscard]] std::string audio_url(const JudgedText& utterance);

}  // namespace penstock::tools
