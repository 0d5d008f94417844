#include "runtime/huggingface/folder_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "base/json_nesting.h"
#include "base/mapped_file.h"
#include "runtime/checkpoint/fault.h"

namespace penstock::runtime {

std::string text_of_file(const std::filesystem::path& file) {
  return std::string(map_file(file).bytes());
}

std::string json_text_of_file(const std::filesystem::path& file) {
  std::string text = text_of_file(file);
  if (json_nests_too_deeply(text))
    throw_fault(file, fmt::format("its values nest deeper than {}", kDeepestNesting));
  return text;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  if (error) throw_fault(path, fmt::format("can't be examined: {}", error.message()));
  return found;
}

// All kept files but the settings of model and features name tokens or their ids, so a new head
// makes them wrong.
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
