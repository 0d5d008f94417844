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
#include "runtime/data/index/index.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// LabelNeed holds what an utterance's text asks of the loss. The cached file holds such pairs.
struct LabelNeed {
  std::uint32_t frames = 0;  // the fewest from which the labels can be learnt, or kBad
  std::uint32_t labels = 0;
  /// The frames of a text that can't be encoded.
  static constexpr std::uint32_t kBad = 0xffffffff;
  bool operator==(const LabelNeed&) const = default;
};

/// Returns the labels of a text. Throws DataError if it can't be encoded or holds the label that
/// ends texts.
[[nodiscard]] std::vector<std::int32_t> encode_transcript(const CorpusOptions& options,
                                                          const Tokenizer& tokenizer,
                                                          std::string_view text);

/// The needs of the texts of all utterances of an index. If options.labels_key is set, they are
/// cached in a file, together with the hash of the corpus that was made from them last. A cached
/// file is used only if a sample of the texts still needs the same.
class LabelNeeds {
 public:
  LabelNeeds(const CorpusOptions& options, const UtteranceIndex& index, const Tokenizer& tokenizer);

  const LabelNeed& operator[](std::size_t utterance) const { return needs_[utterance]; }

  /// Returns the Corpus::hash of the utterances that are not left out. It is cached; `make`
  /// computes it if necessary.
  std::uint64_t corpus_hash(const LeftOut& left_out, const std::function<std::uint64_t()>& make);

 private:
  bool read();
  bool holds_for_sample() const;
  void find();
  LabelNeed needed(std::size_t utterance) const;
  void keep() const;

  const CorpusOptions& options_;
  const UtteranceIndex& index_;
  const Tokenizer& tokenizer_;
  std::uint64_t key_ = 0;              // hash of everything that the labels depend on
  std::uint64_t left_ = 0, hash_ = 0;  // hash of the places left out, and hash of that corpus
  std::optional<FileHandle> in_use_;
  MappedFile file_;
  std::vector<LabelNeed> found_;
  std::span<const LabelNeed> needs_;  // in file_ or found_
};

/// Returns the XXH3 of file names, segments, lengths and labels of the utterances that are not left
/// out, in order, and of their prompts if there are languages.
[[nodiscard]] std::uint64_t hash_of_corpus(const UtteranceIndex& index, const LeftOut& left_out,
                                           const Tokenizer& tokenizer,
                                           const CorpusOptions& options);

}  // namespace penstock::runtime
