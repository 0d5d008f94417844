#pragma once

#include <string>

#include "runtime/data/summary.h"

namespace penstock {

/// Hours, a histogram of durations, characters, rejected utterances with reasons: for people.
std::string summary_text(const ManifestSummary& summary);

/// The same as one JSON object; `manifest` is its first member.
std::string summary_json(const std::string& manifest, const ManifestSummary& summary);

}  // namespace penstock
