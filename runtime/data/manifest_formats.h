#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/data/manifest.h"

namespace penstock::runtime {

/// What the readers of the single formats share. Each appends its utterances and faults.
struct ManifestReading {
  std::filesystem::path manifest;
  std::vector<ManifestEntry>& entries;
  Faults& faults;

  /// "train.jsonl:17"
  std::string at_line(std::size_t line) const;
};

void read_json_lines(const ManifestReading&);
void read_deepspeech_json(const ManifestReading&);
void read_deepspeech_csv(const ManifestReading&);
void read_librispeech(const ManifestReading&);
void read_common_voice(const ManifestReading&);

/// The text of a whole file. DataError if it can't be read.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// Calls `use(line, number from 1)` for every line that isn't blank, without line ends and byte
/// order mark.
void for_each_line(const std::filesystem::path& file,
                   const std::function<void(const std::string&, std::size_t)>& use);

/// Without white space at both ends.
std::string trimmed(const std::string& text);

}  // namespace penstock::runtime
