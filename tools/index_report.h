#pragma once

#include <string>

#include "runtime/data/index.h"

namespace penstock::tools {

/// What an index holds, and which utterances it could not take: for people.
std::string index_text(const runtime::FoundIndex& found);

/// The same as one JSON object; `manifest` is its first member.
std::string index_json(const std::string& manifest, const runtime::FoundIndex& found);

}  // namespace penstock::tools
