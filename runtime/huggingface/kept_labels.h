#pragma once

#include "runtime/checkpoint/kept_parts.h"

namespace penstock::runtime {

/// What a model with other labels keeps of an imported one: all but the files that say what the
/// labels are.
[[nodiscard]] KeptParts without_labels(KeptParts kept);

/// Whether a checkpoint has files of an imported model that say what its labels are.
[[nodiscard]] bool keeps_labels(const Checkpoint& checkpoint);

}  // namespace penstock::runtime
