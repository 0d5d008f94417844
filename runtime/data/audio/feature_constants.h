#pragma once

#include <limits>

#include "configs/config.h"

namespace penstock::runtime {

// FeatureExtractor and the features of an ONNX model (runtime/onnx/feature_nodes.h) share these.

/// True for the features of Whisper, whatever length short recordings are padded to.
[[nodiscard]] inline bool is_whisper(const configs::FeatureConfig& config) {
  return config.kind == "whisper" || config.kind == "whisper-0.5s" || config.kind == "whisper-30s";
}

inline constexpr double kSampleSize = 0x1p15;  // fbank takes samples of 16 bits, as Kaldi does

// Mel energies before the logarithm.
inline constexpr float kMelTerm = 0x1p-24F;                                  // added in log-mel
inline constexpr float kWhisperFloor = 1e-10F;                               // the least of whisper
inline constexpr float kFbankFloor = std::numeric_limits<float>::epsilon();  // the least of fbank

inline constexpr double kNoVariation = 1e-6;    // an utterance of this deviation becomes zeros
inline constexpr double kDeviationTerm = 1e-5;  // added to a channel's deviation, but in fbank

}  // namespace penstock::runtime
