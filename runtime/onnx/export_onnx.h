#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/onnx/model_file.h"

namespace penstock::runtime {

/// Options of an ONNX model.
struct OnnxOptions {
  bool averages = true;     // moving averages of the weights, if the checkpoint has them
  bool eight_bits = false;  // weights of products in 8 bits
  /// Every recording is scaled to this root mean square, of samples within ±1, before its features
  /// are computed. 0: samples are taken as they are.
  double level = 0;
  std::uint64_t max_bytes = kMaxModelBytes;  // ModelFileOptions::max_bytes
};

/// Describes what an export wrote.
struct OnnxReport {
  std::string file;             // the model's name in its folder
  std::int64_t parameters = 0;  // includes statistics of norms
  std::int64_t labels = 0;      // columns of the logits, blank included
  int files = 0;                // of the model: 2 if its constants have one of their own
  int merged = 0;               // adapters that were added to the weights
  int sample_rate = 0;
  bool level_matters = false;  // louder recordings have other features, and no level was given
};

/// Writes a checkpoint, or an output folder's newest one, as a model of ONNX. Its one input is the
/// samples of a recording, FP32 [1, samples], and its output the logits before softmax, FP32 [1,
/// frames, labels]; the features are computed within the graph. Besides it is tokens.txt. Adapters
/// (LoRA) are added to their weights. One weight at a time is in memory, with the tensors and
/// copies that its bytes are made from. Throws ConfigError if the model does not end in CTC, if one
/// of its layers has no form in ONNX here, or for a level of samples that are normalised anyway;
/// and CheckpointError like open_checkpoint(), or if a weight is not finite. After an error there
/// is no `folder`.
OnnxReport export_onnx(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                       const OnnxOptions& options = {});

}  // namespace penstock::runtime
