#pragma once

#include <string>

#include "runtime/corpus/leaks.h"
#include "runtime/data/index/index.h"
#include "runtime/data/manifest/summary.h"

namespace penstock::tools {

// These functions report what `penstock data` found in manifests and indexes.

/// Returns hours, a histogram of durations, characters, rejected utterances with reasons, and what
/// a test set shares with the manifest if one was compared, for people.
std::string summary_text(const runtime::ManifestSummary& summary,
                         const runtime::Leaks* leaks = nullptr);

/// Returns the same as one JSON object, whose first member is `manifest`.
std::string summary_json(const std::string& manifest, const runtime::ManifestSummary& summary,
                         const runtime::Leaks* leaks = nullptr);

/// Returns what an index holds and which utterances it rejected, for people.
std::string index_text(const runtime::FoundIndex& found);

/// Returns the same as one JSON object, whose first member is `manifest`.
std::string index_json(const std::string& manifest, const runtime::FoundIndex& found);

}  // namespace penstock::tools
