#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/weighted_manifest.h"

namespace penstock::configs {

/// Manifests as plain text. One of weight 1 is its path; others are a TOML array, such as
/// `[{manifest = "a.jsonl", weight = 2}, "b.jsonl"]`; none are "".
[[nodiscard]] std::string manifests_text(const std::vector<WeightedManifest>& manifests);

/// Reads plain text into `manifests`: what stands in brackets is a list, all else one path. Names
/// of a list that hold no comma, quote, brace or bracket need no quotes, as shells remove them.
/// Returns what is wrong with the text, as the end of a sentence that begins with it, or "".
[[nodiscard]] std::string read_manifests(std::string_view text,
                                         std::vector<WeightedManifest>& manifests);

}  // namespace penstock::configs
