#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::runtime {

/// Substitutions, deletions and insertions against the units of the references. Sums over a corpus
/// give its rate: all edits by all reference units.
struct EditCount {
  std::int64_t edits = 0;
  std::int64_t reference = 0;

  /// As a fraction; may exceed 1. Against empty references the number of edits, as in jiwer.
  double rate() const;
  EditCount& operator+=(const EditCount& other);
  bool operator==(const EditCount&) const = default;
};

struct ErrorCount {
  EditCount words, characters;

  ErrorCount& operator+=(const ErrorCount& other);
  bool operator==(const ErrorCount&) const = default;
};

/// Counts as jiwer 4 does. Both texts are trimmed. Words lie between spaces, of which runs count as
/// one; characters are code points, inner spaces included as they stand. Case and punctuation
/// count. DataError if a text is not UTF-8.
[[nodiscard]] ErrorCount count_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace penstock::runtime
