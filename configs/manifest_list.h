#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/weighted_manifest.h"

namespace penstock::configs {

/// Converts manifests to plain text. A single one of weight 1 becomes its path. Others become a
/// TOML array, such as `[{manifest = "a.jsonl", weight = 2}, "b.jsonl"]`, and none becomes "".
[[nodiscard]] std::string manifests_text(const std::vector<WeightedManifest>& manifests);

/// Reads plain text into `manifests`. Text in brackets is a list; other text is one path. Paths of
/// a list need no quotes if they hold no comma, quote, brace or bracket, since shells remove
/// quotes. Returns "" or the fault, as a clause that continues a sentence about the text.
[[nodiscard]] std::string read_manifests(std::string_view text,
                                         std::vector<WeightedManifest>& manifests);

}  // namespace penstock::configs
