#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::tools {

/// Edits and words, or characters, of some utterances.
struct EditTally {
  std::int64_t utterances = 0, word_edits = 0, words = 0, character_edits = 0, characters = 0;
  bool operator==(const EditTally&) const = default;
};

/// An utterance as `penstock evaluate --results` judged it.
struct JudgedText {
  std::string audio = {}, reference = {}, hypothesis = {};
  std::optional<double> offset = {};  // seconds; empty: the file's beginning
  double duration = 0;                // seconds; 0: the whole file
  EditTally edits = {};
};

/// The contents of a file of results.
struct JudgedResults {
  std::string file = {};
  EditTally all = {};
  std::map<std::string, EditTally> manifests = {};                      // if there are several
  std::map<std::string, std::map<std::string, EditTally>> fields = {};  // [field][value]
  std::vector<JudgedText> worst = {};  // most word edits for each word first
  std::int64_t failed = 0;             // utterances with an error in place of a text
};

/// Reads a file that `penstock evaluate --results` wrote, and keeps the `worst` utterances that
/// have edits. Of equal rates the one with more edits is worse, then the earlier one. DataError,
/// which names the line, for a file that is missing or has other lines. Empty lines, and a last one
/// that is cut off, are left out.
[[nodiscard]] JudgedResults read_judged_results(const std::filesystem::path& file,
                                                std::size_t worst);

}  // namespace penstock::tools
