#pragma once

#include <string>

#include "runtime/data/summary.h"

namespace penstock::tools {

/// Hours, a histogram of durations, characters, rejected utterances with reasons: for people.
std::string summary_text(const runtime::ManifestSummary& summary);

/// The same as one JSON object; `manifest` is its first member.
std::string summary_json(const std::string& manifest, const runtime::ManifestSummary& summary);

}  // namespace penstock::tools
