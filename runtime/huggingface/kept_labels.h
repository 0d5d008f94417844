#pragma once

#include "runtime/checkpoint/passthrough_parts.h"

namespace penstock::runtime {

/// Removes the files that define labels from the kept parts of an imported model, for a model with
/// other labels.
[[nodiscard]] PassthroughParts without_labels(PassthroughParts kept);

/// True if a kept file defines the labels.
[[nodiscard]] bool says_labels(const std::string& file);

/// True if a checkpoint has files of an imported model that define its labels.
[[nodiscard]] bool keeps_labels(const Checkpoint& checkpoint);

}  // namespace penstock::runtime
