#pragma once

#include <filesystem>
#include <string>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::tools {

/// A recipe that starts from the weights of a checkpoint, as TOML: its model, labels and features,
/// and trainer.init = `path`, by which the checkpoint was opened.
[[nodiscard]] std::string saved_recipe_text(const runtime::Checkpoint& checkpoint,
                                            const std::filesystem::path& path);

}  // namespace penstock::tools
