#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/text/byte_pairs/model.h"

namespace penstock::runtime {

/// The merges of a byte-level BPE.
class ByteMerging {
 public:
  explicit ByteMerging(const BytePairModel& model);

  /// Appends the ids of a word's tokens. `word` is UTF-8.
  void append_ids(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct Merge {
    std::int32_t rank, id;
  };
  /// Returns the merge of two neighbours; null if there is none.
  const Merge* find(std::int32_t left, std::int32_t right) const;

  std::array<std::int32_t, 256> byte_ids_{};
  std::unordered_map<std::uint64_t, Merge> merges_;      // by both ids
  std::unordered_map<std::string, std::int32_t> words_;  // by bytes; empty unless whole_words
};

}  // namespace penstock::runtime
