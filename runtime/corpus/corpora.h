#pragma once

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// Returns the options with which `config` reads the corpus of `manifest`. `sequence` must outlive
/// the result.
[[nodiscard]] CorpusOptions corpus_options(const configs::Config& config,
                                           const partition::LayerSequence& sequence,
                                           const std::string& manifest, CorpusUse use);

/// Returns the ranks that read the corpora of a recipe. Texts are read by the last stage, which
/// holds the only layer that needs targets; audio is read by the first. If the schedule is yet to
/// be found, its last chunk may lie on the first stage, which then reads texts too. Throws
/// ConfigError like read_plan().
[[nodiscard]] CorpusReaders corpus_readers(const configs::Config& config,
                                           const partition::PlannedModel& model);

/// Throws ConfigError if data.train names no manifest.
void check_training_manifest(const configs::Config& config);

/// Throws ConfigError if [features] does not yield the channels that [model] takes.
void check_features(const configs::Config& config);

}  // namespace penstock::runtime
