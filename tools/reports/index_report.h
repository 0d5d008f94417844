#pragma once

#include <string>

#include "runtime/data/index/index.h"

namespace penstock::tools {

/// Returns what an index holds and which utterances it rejected, for people.
std::string index_text(const runtime::FoundIndex& found);

/// Returns the same as one JSON object, whose first member is `manifest`.
std::string index_json(const std::string& manifest, const runtime::FoundIndex& found);

}  // namespace penstock::tools
