#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trainer/notices.h"

namespace penstock::runtime {

/// One training step, as metrics.jsonl records it.
struct StepReport {
  std::int64_t step = 0;  // counts from 1
  std::int64_t epoch = 0;
  double loss = 0;  // mean over the utterances
  double learning_rate = 0;
  double gradient_norm = 0;
  double loss_scale = 1;
  bool skipped = false;  // the gradient was not finite, so the model did not change
  std::int64_t utterances = 0;
  double audio_seconds = 0;
  double step_seconds = 0;
  std::int64_t failed_utterances = 0;  // audio replaced by silence, since the start, on all ranks
  Notices notices = {};                // sum over all ranks at the step's end; not recorded

  double audio_seconds_per_second() const {
    return step_seconds > 0 ? audio_seconds / step_seconds : 0;
  }
};

/// Results of one of several manifests. Rates are fractions.
struct PartReport {
  std::string manifest;
  std::int64_t utterances = 0;
  double wer = 0, cer = 0;
};

/// Results of a pass over a corpus without training. Rates are fractions.
struct EvaluationReport {
  std::int64_t step = 0;
  std::int64_t utterances = 0;
  std::int64_t skipped = 0;  // unusable or failed
  double loss = 0;           // mean over the utterances
  double wer = 0, cer = 0;
  std::int64_t word_edits = 0, words = 0, character_edits = 0, characters = 0;
  std::int64_t oracle_word_edits = 0;  // of the best of the texts that were reported
  double audio_seconds = 0, seconds = 0;
  std::vector<PartReport> parts = {};  // of several manifests; rates are 0 without utterances
};

/// An end before trainer.steps, because validations no longer improve.
struct EarlyEnd {
  std::int64_t step = 0;
  std::string reason;  // EarlyStopping::reason()
};

}  // namespace penstock::runtime
