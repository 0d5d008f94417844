#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/context.h"

namespace penstock::layers {

/// The ids that begin the texts of a decoder: a prefix, a prompt and `bos`. An utterance may have
/// the prompt of its language, which Targets::prompts numbers. All prompts are equally long, so no
/// shape depends on the language.
struct TextStart {
  std::span<const std::int32_t> prefix = {};   // ids before the audio, or none
  std::span<const std::int32_t> prompt = {};   // P ids of utterances without a language
  std::span<const std::int32_t> prompts = {};  // those of languages 1, 2, …, P ids each
  std::int32_t bos = 0;

  /// Returns the ids before the labels of each text.
  std::int64_t rows() const { return std::ssize(prefix) + std::ssize(prompt) + 1; }
  /// Returns the number of languages with a prompt of their own.
  std::int64_t languages() const;
  /// Returns the prompt of a number of Targets::prompts.
  std::span<const std::int32_t> prompt_of_language(std::int32_t number) const;
  /// Returns the ids of all texts of a micro-batch: prefix, prompt, bos and labels of each. Without
  /// targets there are no labels, and no languages. ShapeError for a number without a prompt;
  /// `layer` is the name in it.
  std::vector<std::int32_t> ids(const Context& context, const std::string& layer) const;

  /// ShapeError for ids that are no rows of a table with so many, and for prompts of other lengths.
  void check(std::int64_t classes, const std::string& layer) const;
};

}  // namespace penstock::layers
