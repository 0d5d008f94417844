#pragma once

#include <string>

#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/recognise/transcribe.h"

namespace penstock::tools {

/// Returns a line of JSON with audio_filepath, offset (for a segment), duration, and text or error.
/// It is also a valid line of a manifest.
[[nodiscard]] std::string transcript_line(const runtime::Transcript& transcript);

/// Returns a line of JSON with audio_filepath, offset (for a segment), duration and by (the values
/// of TestSet::by). Then follow reference, hypothesis, word_edits, words, character_edits and
/// characters, or error. If there are several manifests, it also names the utterance's.
[[nodiscard]] std::string judged_line(const runtime::JudgedUtterance& utterance,
                                      const runtime::TestSet& test);

}  // namespace penstock::tools
