#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "layers/losses/loss.h"
#include "partition/layout/build_model.h"
#include "runtime/pipeline/stage.h"
#include "runtime/pipeline/text_generation.h"

namespace penstock::test {

// Small models that write texts of noise, on one stage or several. The cases of a search and of its
// layout use them.

using Labels = std::vector<std::int32_t>;

constexpr int kTextClasses = 5;

/// Returns a block of an encoder, and two of a decoder: a language model as Llama or Qwen3 have it,
/// an attention decoder, or one with learned positions beside CTC. "short" is the last one with
/// positions for three labels.
[[nodiscard]] partition::LayerSequence writing_sequence(const std::string& decoder, int beam = 1);

/// Returns five micro-batches of ragged utterances, which have no labels yet.
[[nodiscard]] runtime::StepWork writing_work();

/// Returns noise for each micro-batch, in their order from `first` on.
[[nodiscard]] runtime::ReadFeatures noise_from(int first);

/// A model, its cut into stages, and the search for its texts.
struct WritingLayout {
  std::string decoder = "lm";
  int stages = 1;
  const char* schedule = "1f1b";
  std::vector<int> cut = {};  // empty: one chunk
  layers::DType compute = layers::DType::f32;
  std::int32_t eos = 2;
  layers::DecodingOptions decoding = {};
  std::vector<std::int32_t> suppress = {}, begin_suppress = {};

  layers::TextWriting writing() const {
    const bool beside_ctc = decoder == "learned" || decoder == "short";
    return {.eos = eos,
            .ctc_weight = beside_ctc ? 0.3 : 0,
            .suppress = suppress,
            .begin_suppress = begin_suppress,
            .decoding = decoding};
  }
  /// Returns the classes that are left out after a text of so many labels.
  std::vector<std::int32_t> left_out(std::size_t labels) const {
    std::vector<std::int32_t> classes = suppress;
    if (labels == 0) classes.insert(classes.end(), begin_suppress.begin(), begin_suppress.end());
    return classes;
  }
};

[[nodiscard]] runtime::StageOptions writing_stage(const partition::LayerSequence& sequence,
                                                  const WritingLayout& layout, int stage);

using TextsOf = std::map<std::uint64_t, runtime::TextGeneration::Texts>;  // by utterance

/// Returns all texts that are found of each utterance.
[[nodiscard]] TextsOf find_texts(const WritingLayout& layout);

/// Returns the best text of each utterance.
[[nodiscard]] std::map<std::uint64_t, Labels> write_texts(const WritingLayout& layout);

/// The rows that predict the labels of texts and their ends, and CTC's logits.
struct ScoredRows {
  std::vector<std::vector<float>> rows, logits;  // of each utterance
};

/// Runs a micro-batch with these texts.
[[nodiscard]] ScoredRows score_texts(runtime::Stage& stage, runtime::MicroBatchWork m,
                                     const std::vector<Labels>& texts);

}  // namespace penstock::test
