#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "layers/losses/loss.h"

namespace penstock::layers {

/// Returns the losses from which families of models choose. A new loss is a pair of files beside
/// this one, and an entry in losses.cpp.
[[nodiscard]] std::vector<Loss> losses();

/// Returns the loss of that name. Throws ConfigError, which lists all names, if there is none.
[[nodiscard]] const Loss& find_loss(std::span<const Loss> losses, std::string_view name);

}  // namespace penstock::layers
