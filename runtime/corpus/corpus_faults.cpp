#include "runtime/corpus/corpus_faults.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

#include "base/counted.h"
#include "base/error.h"
#include "runtime/job/consistency.h"

namespace penstock::runtime {

std::int64_t throw_or_count(comm::Communicator& world, const Faults& faults,
                            const CorpusOptions& options) {
  if (faults.empty()) return 0;
  const auto count = static_cast<std::int64_t>(faults.size());
  const std::string headline =
      fmt::format("{} of {}", counted(count, "utterance"), options.manifest.string());
  if (options.data.bad_utterances != "skip")
    raise_by_rank_0<DataError>(
        world, fmt::format("{} cannot be used:{}\n{}", headline, faults.listed(), options.advice));
  if (world.rank() == 0) spdlog::warn("left out: {}:{}", headline, faults.listed());
  return count;
}

void pack(const Faults& faults, Packer& message) {
  message.add(static_cast<std::int64_t>(faults.size()));
  for (const Fault& fault : faults.all()) {
    message.add(fault.where);
    message.add(fault.what);
  }
}

Faults unpack_faults(Unpacker& message) {
  Faults faults;
  for (std::int64_t left = message.number(); left > 0; --left) {
    const std::string where = message.text();
    faults.add(where, message.text());
  }
  return faults;
}

}  // namespace penstock::runtime
