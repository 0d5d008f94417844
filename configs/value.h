#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace penstock::configs
