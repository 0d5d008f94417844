#pragma once

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/batch/steps.h"
#include "runtime/planning/run_shape.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// A recipe's model and utterances, complete on every rank, for profiling steps.
struct ProfilingData {
  configs::Config config;  // with plan file and lanes resolved
  int labels = 0;          // including the blank
  partition::LayerSequence sequence;
  Corpus corpus;
  StepSequence steps;
  RunShape shape;
  std::unique_ptr<const Tokenizer> tokenizer = {};  // the corpus refers to it
};

/// Loads the data. All ranks of `world` call this together. Rank 0 reads first, so that its index
/// is ready for the others. Creates no output folder. Throws ConfigError and DataError like
/// train().
ProfilingData load_profiling_data(const configs::Config& recipe, comm::Communicator& world);

}  // namespace penstock::runtime
