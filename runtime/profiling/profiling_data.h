#pragma once

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/steps.h"
#include "runtime/planning/run_shape.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// A recipe's model and utterances, whole on every rank: what steps are profiled with.
struct ProfilingData {
  configs::Config config;  // with plan file and lanes resolved
  int labels = 0;          // blank included
  partition::LayerSequence sequence;
  Corpus corpus;
  StepSequence steps;
  RunShape shape;
  std::unique_ptr<const Tokenizer> tokenizer = {};  // which the corpus refers to
};

/// All ranks of `world` call it; rank 0 reads first, so that what it indexes is there for the
/// others. No folder is made. ConfigError and DataError as train().
ProfilingData load_profiling_data(const configs::Config& recipe, comm::Communicator& world);

}  // namespace penstock::runtime
