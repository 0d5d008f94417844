#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/losses/loss.h"
#include "runtime/corpus/corpus.h"
#include "runtime/decoding/timed_words.h"
#include "runtime/pipeline/session.h"
#include "runtime/text/error_rate.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

struct EvaluationOptions {
  configs::FeatureConfig features = {};
  configs::DataConfig data = {};
  layers::Decoder decoder = {};  // from decoder_of()
  /// More decoders for the same logits, of which only errors are counted. Models that write texts
  /// have none.
  std::vector<layers::Decoder> alternatives = {};
  std::optional<layers::TextWriting> writing = {};  // Loss::writing; such models have no decoder
  layers::DecodingOptions decoding = {};            // of either; only beam and nbest are read
  /// Layers before the last read labels, of which utterances without texts have none.
  bool reads_labels = false;
  int threads = 1;          // computing threads per rank
  bool references = false;  // true to fill Recognised::reference
  /// Called after each micro-batch of the last stage, or after each label that a decoder writes for
  /// several of them. May be empty.
  std::function<void()> advance = {};
  /// Receives an utterance's logits (frames × classes) on the rank that computes them. May be
  /// empty.
  std::function<void(std::uint64_t id, std::span<const float> logits_FC, std::int64_t classes)>
      logits = {};
  WordTimer word_timer = {};  // fills Recognised::words; may be empty
  /// The words are those of the corpus, not those recognised, whose errors are then not counted.
  bool times_references = false;
};

struct ScoredText {
  std::string text;
  double score = 0;  // layers::Hypothesis::score

  bool operator==(const ScoredText&) const = default;
};

/// The recognition result of an utterance.
struct Recognised {
  std::string text = {};
  std::string reference = {};          // normalised; empty unless EvaluationOptions::references
  ErrorCount errors = {};              // zero if the corpus has no labels
  std::string fault = {};              // why its audio could not be read; it then counts in no rate
  std::optional<double> score = {};    // of `text`, if a beam searched for it
  std::vector<ScoredText> nbest = {};  // DecodingOptions::nbest texts at most, `text` first
  std::vector<TimedWord> words = {};   // by EvaluationOptions::word_timer
  std::int64_t oracle_word_edits = 0;  // fewest of `text` and `nbest`
  /// The errors by each of EvaluationOptions::alternatives, if the corpus has labels.
  std::vector<ErrorCount> alternatives = {};
};

/// The recognition results of a corpus.
struct Evaluation {
  EvaluationReport report;    // same on every rank; failed recordings count as skipped
  double loss_sum = 0;        // sum over utterances heard whole, on every rank
  std::int64_t in_parts = 0;  // utterances that were heard in parts, of which there is no loss
  std::vector<Recognised> utterances;     // one per id; on rank 0 only
  std::vector<FailedUtterance> failures;  // recordings that this rank could not read
};

/// Makes the decoder of a model whose loss is `loss` from the parameters of its last stage, as they
/// are now. Empty on ranks of other stages, and for a loss that writes texts.
[[nodiscard]] layers::Decoder decoder_of(const Stage& stage, const layers::Loss& loss,
                                         const layers::DecodingOptions& decoding = {});

/// Runs a corpus forward through the stages of a session and decodes it. Micro-batches are
/// distributed over the replicas. If the corpus has labels, the texts are scored. Micro-batches
/// depend on the lengths alone, so the results are the same to the last bit on any number of ranks.
/// All ranks call it.
[[nodiscard]] Evaluation evaluate(Session& session, const Corpus& corpus,
                                  const Tokenizer& tokenizer, const EvaluationOptions& options);

}  // namespace penstock::runtime
