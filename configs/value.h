#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"

namespace penstock::configs {

/// Returns the value as plain text, which set_value() reads back to the same bits: numbers in their
/// shortest decimal form, text without quotes, lists as "[0.9, 1]" or "[norm1, relu1]".
[[nodiscard]] std::string value_text(const KeyValue& value);

/// Returns the values that `key` takes, for messages: "a whole number of at least 1", "one of
/// gpipe, 1f1b".
[[nodiscard]] std::string expectation(const Key& key);

/// Sets the key from plain text. Returns nothing, or the fault of the text; then the key keeps its
/// value.
[[nodiscard]] std::optional<std::string> set_value(const Key& key, std::string_view text);

/// Returns the text as a basic string of TOML, in quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

/// Converts manifests to plain text. A single one of weight 1 becomes its path. Others become a
/// TOML array, such as `[{manifest = "a.jsonl", weight = 2}, "b.jsonl"]`, and none becomes "".
[[nodiscard]] std::string manifests_text(const std::vector<WeightedManifest>& manifests);

/// Reads plain text into `manifests`. Text in brackets is a list; other text is one path. Paths of
/// a list need no quotes if they hold no comma, quote, brace or bracket, since shells remove
/// quotes. Returns "" or the fault, as a clause that continues a sentence about the text.
[[nodiscard]] std::string read_manifests(std::string_view text,
                                         std::vector<WeightedManifest>& manifests);

}  // namespace penstock::configs
