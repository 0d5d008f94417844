#include "comm/join.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/nccl.h"
#include "comm/threads.h"

namespace penstock::comm {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::optional(std::atoi(text)) : std::nullopt;
}

/// Reads PENSTOCK_RANK, PENSTOCK_RANKS and PENSTOCK_MEET.
FilesOptions meeting() {
  const auto rank = number_in("PENSTOCK_RANK"), ranks = number_in("PENSTOCK_RANKS");
  const char* folder = std::getenv("PENSTOCK_MEET");
  if (!ranks || !folder)
    throw CommError(
        "PENSTOCK_RANK is set, but not PENSTOCK_RANKS and PENSTOCK_MEET: set them to the number of "
        "ranks and to an empty folder for their messages");
  return {folder, *rank, *ranks};
}

}  // namespace

std::optional<int> rank_in_job() {
  for (const char* name : {"PENSTOCK_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const auto rank = number_in(name)) return rank;
  return std::nullopt;
}

bool is_job_on_one_machine() {
  const auto here = number_in("OMPI_COMM_WORLD_LOCAL_SIZE"),
             all = number_in("OMPI_COMM_WORLD_SIZE");
  return here && all && *here == *all;
}

// Files come first, since whoever sets their variables means them, even under mpirun. A process
// that nobody started as a rank is a job of its own.
std::unique_ptr<Communicator> join_job() {
  if (rank_in_job()) set_nccl_defaults();
  if (number_in("PENSTOCK_RANK")) return join_files(meeting());
  if (rank_in_job()) return join_mpi();
  return std::move(make_thread_communicators({.ranks = 1}).front());
}

}  // namespace penstock::comm
