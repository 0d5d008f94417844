#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/byte_pairs/added_tokens.h"
#include "runtime/text/byte_pairs/merging.h"
#include "runtime/text/byte_pairs/model.h"

namespace penstock::runtime {

/// Turns texts into the ids of a byte-level BPE and ids into texts, as transformers does.
class BytePairCoder {
 public:
  explicit BytePairCoder(BytePairModel model);

  const BytePairModel& model() const { return model_; }

  /// Returns the ids of a text, without any before or after it. DataError if the text is not UTF-8.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;

  /// Returns the text of ids. Bytes that make no character become U+FFFD. Ids without a token, such
  /// as those beyond the last, add nothing.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const;

  /// Returns the bytes of an id below model().tokens.size(), which need not be UTF-8.
  [[nodiscard]] const std::string& bytes(std::int32_t id) const;

 private:
  void append_words(std::u32string_view text, std::vector<std::int32_t>& ids) const;

  BytePairModel model_;
  ByteMerging merging_;
  AddedTokens before_, after_;      // tokens that are found before and after a text is normalised
  std::vector<std::string> bytes_;  // by id
};

}  // namespace penstock::runtime
