#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// What the ranks with a loss read of a manifest: its usable lines, and their texts as labels.
struct CorpusTexts {
  std::vector<ManifestEntry> entries;
  std::vector<std::vector<std::int32_t>> labels;
  Faults faults;  // of the other lines
};

/// Reads a manifest's lines and texts. DataError as read_manifest.
[[nodiscard]] CorpusTexts read_texts(const std::filesystem::path& manifest,
                                     const Tokenizer& tokenizer);

/// What other ranks must know of a line: where its audio is, and what its labels ask of it.
struct CorpusLine {
  std::filesystem::path audio;
  std::optional<double> offset, duration;  // as ManifestEntry has them
  std::string where;                       // "train.jsonl:17": for errors
  std::int64_t labels = 0;                 // of the text
  std::int64_t frames = 0;                 // that CTC needs for them
};

struct CorpusLines {
  std::vector<CorpusLine> lines;
  Faults faults;
};

/// The lines of `texts` as a message between ranks.
[[nodiscard]] std::string pack_lines(const CorpusTexts& texts);
[[nodiscard]] CorpusLines unpack_lines(std::string message);

}  // namespace penstock::runtime
