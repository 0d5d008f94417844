#pragma once

#include <filesystem>
#include <string>

namespace penstock::tools {

/// A recipe that starts from the weights of a checkpoint, as TOML: its model, labels and features,
/// and trainer.init = `path`. CheckpointError if `path` is no checkpoint, or a broken one.
[[nodiscard]] std::string saved_recipe_text(const std::filesystem::path& path);

}  // namespace penstock::tools
