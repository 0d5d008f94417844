#include "runtime/huggingface/kept_labels.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "runtime/huggingface/file_names.h"

namespace penstock::runtime {
bool says_labels(const std::string& file) {
  static constexpr std::array<std::string_view, 3> kOthers{kModelConfig, kPreprocessorConfig,
                                                           kProcessorConfig};
  return std::ranges::find(kOthers, std::filesystem::path(file).filename().string()) ==
         kOthers.end();
}

PassthroughParts without_labels(PassthroughParts kept) {
  std::erase_if(kept.files,
                [](const PassthroughParts::File& file) { return says_labels(file.file); });
  return kept;
}

bool keeps_labels(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.files(),
                             [](const KeptFile& kept) { return says_labels(kept.file); });
}

}  // namespace penstock::runtime
