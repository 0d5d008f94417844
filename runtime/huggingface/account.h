#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/weights_folder.h"

namespace penstock::runtime {

/// Under which name a folder holds each tensor of a pairing: its own, or the former one. Kept ones
/// that the folder lacks are not in it.
using StoredNames = std::map<std::string, std::string>;

/// How a folder names tensors otherwise than a pairing does, and what it may have besides: a class
/// without a head.
struct OtherNames {
  std::string_view prefix = {}, stored_prefix = {};  // of the pairing's names, and of the folder's
  std::vector<std::string_view> left_out = {};       // how names begin that may be there besides
};

/// Accounts for every tensor. One CheckpointError names all that the folder lacks, has besides, or
/// has of another shape or type.
[[nodiscard]] StoredNames account(const Pairing& pairing, const WeightsFolder& weights,
                                  const std::filesystem::path& folder,
                                  const OtherNames& others = {});

}  // namespace penstock::runtime
