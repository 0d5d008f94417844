#pragma once

#include <filesystem>
#include <memory>

#include "comm/communicator.h"

namespace penstock::comm {

struct FilesOptions {
  std::filesystem::path folder;  // empty at the start of a job, and the same for all its ranks
  int rank = 0, ranks = 1;
};

/// Ranks that meet in a folder of a machine's or of a shared disk: every message is a file of it.
/// For machines without MPI: enough to exchange NCCL's ids and for trying things out, slow
/// otherwise. A send is done at once. abort() wakes the other ranks, which raise CommError, and
/// raises it here; a rank that is killed is not noticed. CommError if this rank was in the folder
/// before, which messages of an earlier job would confuse.
std::unique_ptr<Communicator> join_files(const FilesOptions& options);

}  // namespace penstock::comm
