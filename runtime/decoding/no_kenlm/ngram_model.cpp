#include "runtime/decoding/ngram_model.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::runtime {

std::shared_ptr<const NgramModel> read_ngram_model(const std::filesystem::path& path) {
  throw ConfigError(fmt::format(
      "--lm {}: this penstock was built without KenLM: leave out --lm, or build it again after\n"
      "  tools/kenlm",
      path.string()));
}

bool reads_ngram_models() { return false; }

}  // namespace penstock::runtime
