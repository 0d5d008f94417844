#include "runtime/trainer/corpus_faults.h"

#include <spdlog/spdlog.h>

#include <string>

namespace penstock {

std::int64_t settle(const Faults& faults, const CorpusOptions& options) {
  if (faults.empty()) return 0;
  const auto count = static_cast<std::int64_t>(faults.size());
  const std::string headline =
      std::to_string(count) + " utterances of " + options.manifest.string();
  if (options.data.bad_utterances != "skip")
    faults.refuse(headline + " cannot be used", options.advice);
  if (options.log) spdlog::warn("{} are left out:{}", headline, faults.listed());
  return count;
}

}  // namespace penstock
