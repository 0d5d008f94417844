#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/corpus/corpus_texts.h"

namespace penstock::runtime {

/// Which of a manifest's usable lines take part, by what the ranks that read audio find.
struct CorpusLengths {
  std::vector<std::size_t> kept;                   // places among the lines
  std::vector<AudioLength> lengths;                // of these
  std::vector<std::optional<std::int64_t>> first;  // sample of the recording, of a segment
  std::int64_t too_short = 0, too_long = 0;
  Faults faults;
};

/// Lengths of the lines' audio, by index_audio. Lines out of data.min_seconds and data.max_seconds
/// are counted first; then faults are audio that can't be used and labels that need more frames
/// than their audio makes.
[[nodiscard]] CorpusLengths find_lengths(const CorpusOptions& options, const CorpusLines& lines);

/// The same as a message between ranks.
[[nodiscard]] std::string pack_lengths(const CorpusLengths& lengths);
[[nodiscard]] CorpusLengths unpack_lengths(std::string message);

}  // namespace penstock::runtime
