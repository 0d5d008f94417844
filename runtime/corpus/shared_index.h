#pragma once

#include "comm/communicator.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/index/index.h"

namespace penstock::runtime {

struct SharedIndex {
  UtteranceIndex index;
  std::filesystem::path folder;  // base of its paths on this rank
};

/// Returns the index of options.manifest on every rank. The first reader of texts finds it. The
/// readers of audio measure recordings, a share each, whichever rank has the manifest. Ranks that
/// can read the index file map it; the others receive a copy, which they keep in a scratch file.
/// All ranks call this together and throw DataError together, like find_index().
[[nodiscard]] SharedIndex share_index(const CorpusOptions& options, comm::Communicator& world,
                                      const CorpusReaders& readers);

}  // namespace penstock::runtime
