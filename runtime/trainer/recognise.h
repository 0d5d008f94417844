#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Where a trained model comes from and what of its recipe to change for now.
struct Trained {
  std::filesystem::path checkpoint;  // a checkpoint's folder, or an output folder: its newest
  int threads = 1;                   // of a rank
  std::string compute = {};          // number format of the layers; empty: the checkpoint's
  std::vector<layers::ModelFamily> families = layers::model_families();  // that its model may be of
  Verified verified = Verified::all;  // of the checkpoint, by all ranks together
};

/// What to judge it by.
struct TestSet {
  std::string manifest;
  bool skip_bad = false;  // utterances that can't be used are left out and counted, not refused
};

/// Loss and error rates of a checkpoint on a manifest, over as many stages as `world` has ranks.
/// All ranks call it; the report is whole on each. CheckpointError if any shard is damaged
/// (of what is verified), ConfigError if no manifest is named, DataError as load_corpus.
[[nodiscard]] EvaluationReport evaluate_checkpoint(const Trained& trained, const TestSet& test,
                                                   comm::Communicator& world);

/// What a checkpoint makes of recordings, one text each, on rank 0, which also writes their logits
/// to the file `logits`, if that is named, as LogitsFile has it. DataError lists every recording
/// that can't be used.
[[nodiscard]] std::vector<std::string> transcribe(
    const Trained& trained, const std::vector<std::filesystem::path>& recordings,
    comm::Communicator& world, const std::filesystem::path& logits = {});

}  // namespace penstock::runtime
