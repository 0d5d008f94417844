#pragma once

#include <filesystem>
#include <string>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::tools {

/// Returns a recipe, as TOML, that starts from the weights of a checkpoint: its model, labels and
/// features, and trainer.init = `path`, which opened the checkpoint.
[[nodiscard]] std::string saved_recipe_text(const runtime::Checkpoint& checkpoint,
                                            const std::filesystem::path& path);

}  // namespace penstock::tools
