#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/recognise/evaluate_manifests.h"

namespace penstock::tools {

// These functions report words with their times.

/// Adds words (word, start, end and confidence of each, to the millisecond) and confidence, the
/// mean of theirs. Times count from the utterance's beginning, as in NeMo's manifests.
void add_words(nlohmann::ordered_json& line, const std::vector<runtime::TimedWord>& words);

/// Returns a line of JSON with audio_filepath, offset (for a segment) and duration, then text,
/// words and confidence, or error. It is also a valid line of a manifest.
[[nodiscard]] std::string aligned_line(const runtime::JudgedUtterance& utterance);

/// Returns a line of CTM for each word: recording, channel 1, start, duration, word, confidence.
/// The recording is its file's name without folder and ending, and times count from its beginning.
/// Spaces within a field become underscores.
[[nodiscard]] std::string aligned_ctm(const runtime::JudgedUtterance& utterance);

}  // namespace penstock::tools
