#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/key.h"

namespace penstock::configs {

/// The value as plain text, from which set_value() makes the same bits again: shortest decimal
/// form of a number, text without quotes, lists as "[0.9, 1]" or "[norm1, relu1]".
[[nodiscard]] std::string value_text(const KeyValue& value);

/// What `key` takes, for messages: "a whole number of at least 1", "one of gpipe, 1f1b".
[[nodiscard]] std::string expectation(const Key& key);

/// Sets the key from plain text. Returns what is wrong with the text, or nothing; a value that is
/// wrong leaves the key as it was.
[[nodiscard]] std::optional<std::string> set_value(const Key& key, std::string_view text);

}  // namespace penstock::configs
