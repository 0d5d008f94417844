#pragma once

#include "runtime/checkpoint/kept_parts.h"

namespace penstock::runtime {

/// What a model with other labels keeps of an imported one: all but the files that say what the
/// labels are.
[[nodiscard]] KeptParts without_labels(KeptParts kept);

/// Whether a kept file says what the labels are.
[[nodiscard]] bool says_labels(const std::string& file);

/// Whether a checkpoint has files of an imported model that say what its labels are.
[[nodiscard]] bool keeps_labels(const Checkpoint& checkpoint);

}  // namespace penstock::runtime
