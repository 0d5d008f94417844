#pragma once

#include <map>
#include <string>

#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/weights_folder.h"

namespace penstock::runtime {

/// Under which name a folder holds each tensor of a pairing: its own, or the former one. Kept ones
/// that the folder lacks are not in it.
using StoredNames = std::map<std::string, std::string>;

/// Every tensor accounted for. One CheckpointError names all that the folder lacks, has besides, or
/// has of another shape or type.
[[nodiscard]] StoredNames account(const Pairing& pairing, const WeightsFolder& weights,
                                  const std::filesystem::path& folder);

}  // namespace penstock::runtime
