#pragma once

#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "partition/plan/plan_file.h"
#include "runtime/corpus/corpus.h"

namespace penstock {

/// How `config` describes the corpus of `manifest`, for a run in trainer.output; `sequence` must
/// outlive the result.
CorpusOptions corpus_options(const Config& config, const LayerSequence& sequence,
                             const std::string& manifest, CorpusUse use);

/// The ranks that read the corpora of a recipe: those of the last stage, where the layer sequence's
/// only layer that needs targets is, and those of the first. ConfigError as read_plan.
CorpusReaders corpus_readers(const Config& config, const PlannedModel& model);

/// ConfigError if data.train names no manifest.
void check_training_manifest(const Config& config);

/// ConfigError if [features] does not make what [model] takes.
void check_features(const Config& config);

}  // namespace penstock
