#pragma once

#include <string>

#include "runtime/trainer/evaluate_manifests.h"
#include "runtime/trainer/transcribe.h"

namespace penstock::tools {

/// A line of JSON: audio_filepath, of a segment offset, duration, and text or error. So it is a
/// line of a manifest as well.
[[nodiscard]] std::string transcript_line(const runtime::Transcript& transcript);

/// A line of JSON: audio_filepath, of a segment offset, duration, by (the values of TestSet::by),
/// and reference, hypothesis, word_edits, words, character_edits and characters, or error. With
/// several manifests it says of which it is.
[[nodiscard]] std::string judged_line(const runtime::JudgedUtterance& utterance,
                                      const runtime::TestSet& test);

}  // namespace penstock::tools
