#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::runtime {

/// Counts substitutions, deletions and insertions, and the units of the references. Sums over a
/// corpus yield its rate: all edits divided by all reference units.
struct EditCount {
  std::int64_t edits = 0;
  std::int64_t reference = 0;

  /// Returns edits / reference, which may exceed 1. For empty references it returns the edits, like
  /// jiwer.
  double rate() const;
  EditCount& operator+=(const EditCount& other);
  bool operator==(const EditCount&) const = default;
};

struct ErrorCount {
  EditCount words, characters;

  ErrorCount& operator+=(const ErrorCount& other);
  bool operator==(const ErrorCount&) const = default;
};

/// Counts errors as jiwer 4 does. Both texts are trimmed. Words are separated by spaces, and a run
/// of spaces counts as one. Characters are code points, and inner spaces count. Case and
/// punctuation matter. Throws DataError if a text is not UTF-8.
[[nodiscard]] ErrorCount count_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace penstock::runtime
