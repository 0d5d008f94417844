#include "runtime/checkpoint/resume/saved_tokenizer.h"

#include <fmt/format.h>

#include <ranges>
#include <system_error>

#include "base/error.h"
#include "base/mapped_file.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/remote_output.h"
#include "runtime/text/byte_pairs/folder.h"

namespace penstock::runtime {
namespace {

/// Returns the tokenizer file of a checkpoint. Returns an empty path if it has none or is broken.
/// Resuming reports the latter.
std::filesystem::path tokenizer_of(const std::filesystem::path& folder) try {
  return Checkpoint(folder).tokenizer_file();
} catch (const Error&) {
  return {};
}

}  // namespace

configs::Config with_saved_tokenizer(configs::Config config) {
  std::error_code ignored;  // later reads report errors
  if (!config.trainer.resume || config.text.kind == "alphabet" ||
      std::filesystem::exists(config.text.model, ignored))
    return config;
  const auto stored = list_labelled(local_output(config));
  for (const StoredCheckpoint& candidate : std::views::reverse(stored)) {
    const std::filesystem::path file = tokenizer_of(candidate.folder);
    if (file.empty()) continue;
    config.text.model = file.string();
    break;
  }
  return config;
}

std::string tokenizer_change(const configs::TextConfig& text, const TrainingState& saved) {
  if (text.kind == "alphabet" || saved.tokenizer_hash.empty()) return {};
  const std::string hash = text.kind == "bpe" ? xxh3_128(byte_pairs_at(text.model))
                                              : xxh3_128(map_file(text.model).bytes());
  if (hash == saved.tokenizer_hash) return {};
  return fmt::format("was a file with the XXH3-128 {}, is now {} with {}", saved.tokenizer_hash,
                     text.model, hash);
}

}  // namespace penstock::runtime
