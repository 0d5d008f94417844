#pragma once

#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "partition/plan/plan_file.h"
#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// How `config` describes the corpus of `manifest`, for a run in trainer.output; `sequence` must
/// outlive the result.
[[nodiscard]] CorpusOptions corpus_options(const configs::Config& config,
                                           const partition::LayerSequence& sequence,
                                           const std::string& manifest, CorpusUse use);

/// The ranks that read the corpora of a recipe: those of the last stage, where the layer sequence's
/// only layer that needs targets is, and those of the first. Chunks of lists that are yet to be
/// found may come back to the first stage, which then reads texts too. ConfigError as read_plan.
[[nodiscard]] CorpusReaders corpus_readers(const configs::Config& config,
                                           const partition::PlannedModel& model);

/// ConfigError if data.train names no manifest.
void check_training_manifest(const configs::Config& config);

/// ConfigError if [features] does not make what [model] takes.
void check_features(const configs::Config& config);

}  // namespace penstock::runtime
