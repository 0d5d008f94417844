#pragma once

#include "comm/communicator.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/index.h"

namespace penstock::runtime {

struct SharedIndex {
  UtteranceIndex index;
  std::filesystem::path folder;  // that its paths start from on this rank
};

/// The index of options.manifest, on every rank. The first reader of texts finds it; readers of
/// audio answer for recordings, each for a share, whatever rank has the manifest. Ranks that see
/// the file map it; the others are sent it, and keep it out of memory. All ranks call it; DataError
/// by rank 0 as find_index().
[[nodiscard]] SharedIndex share_index(const CorpusOptions& options, comm::Communicator& world,
                                      const CorpusReaders& readers);

}  // namespace penstock::runtime
