// comm_mpi_faults SCENARIO: what a rank does when it fails; run under mpirun by job_ends.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/mpi.h"

namespace penstock::comm {
namespace {

void play(const std::string& scenario, Communicator& world) {
  barrier(world);
  const bool culprit = world.rank() == 1;
  if (culprit && scenario == "killed") std::raise(SIGKILL);
  if (culprit && scenario == "raises") throw DataError("rank 1: the disk is gone");
  std::vector<std::byte> data(scenario == "short" && culprit ? 60'000 : 70'000);
  if (scenario == "long" && culprit) data.resize(80'000);
  const Message message{culprit ? 0 : 1, 7, "activation of micro-batch 3"};
  if (culprit)
    wait(world, *world.send(message, data));
  else if (world.rank() == 0)
    wait(world, *world.receive(message, data));
  barrier(world);
}

}  // namespace
}  // namespace penstock::comm

int main(int argc, char** argv) {
  const auto world = penstock::comm::join_mpi();
  try {
    penstock::comm::play(argc > 1 ? argv[1] : "", *world);
  } catch (const penstock::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    world->abort(3);
  }
}
