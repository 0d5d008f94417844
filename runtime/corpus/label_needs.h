#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/file_handle.h"
#include "base/mapped_file.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/index.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// Frames that CTC needs for the labels of an index's utterances. Where options.labels_key tells
/// what labels follow from, they are kept in the cache, with the hash of the corpus that was made
/// of them last. What is kept is believed if a sample of the texts needs as much.
class LabelNeeds {
 public:
  LabelNeeds(const CorpusOptions& options, const UtteranceIndex& index, const Tokenizer& tokenizer);

  /// kBad: the text can't be encoded.
  std::uint32_t frames(std::size_t utterance) const { return frames_[utterance]; }
  static constexpr std::uint32_t kBad = 0xffffffff;

  /// Corpus::hash of what is left, from before or from `make`.
  std::uint64_t corpus_hash(const LeftOut& left_out, const std::function<std::uint64_t()>& make);

 private:
  bool read();
  bool holds_for_sample() const;
  void find();
  void keep() const;

  const CorpusOptions& options_;
  const UtteranceIndex& index_;
  const Tokenizer& tokenizer_;
  std::uint64_t key_ = 0;              // of what the labels follow from
  std::uint64_t left_ = 0, hash_ = 0;  // the hash of what is left out, and of that corpus
  std::optional<FileHandle> in_use_;
  MappedFile file_;
  std::vector<std::uint32_t> found_;
  std::span<const std::uint32_t> frames_;  // of file_ or found_
};

/// XXH3 of file names, segments, lengths and labels of what is left, in order.
[[nodiscard]] std::uint64_t hash_of_corpus(const UtteranceIndex& index, const LeftOut& left_out,
                                           const Tokenizer& tokenizer, int threads);

}  // namespace penstock::runtime
