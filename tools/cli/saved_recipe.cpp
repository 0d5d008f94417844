#include "tools/cli/saved_recipe.h"

#include <array>
#include <string_view>

#include "configs/flatten.h"
#include "configs/write.h"
#include "layers/models/families.h"

namespace penstock::tools {

std::string saved_recipe_text(const runtime::Checkpoint& checkpoint,
                              const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 4> kShown = {"model", "text", "features",
                                                             "trainer.init"};
  configs::Config config =
      configs::unflatten(checkpoint.state().config, path.string(), layers::model_families());
  const std::filesystem::path pieces = checkpoint.tokenizer_file();
  if (!pieces.empty()) config.text.model = pieces.string();
  config.trainer.init = path.string();
  return configs::recipe_text(config, kShown);
}

}  // namespace penstock::tools
