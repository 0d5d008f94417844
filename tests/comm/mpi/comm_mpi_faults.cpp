// comm_mpi_faults SCENARIO: what a rank does when it fails; run under mpirun by job_ends.

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/join.h"

namespace penstock::comm {
namespace {

/// A socket of this process that listens beyond this machine, as "0.0.0.0" and such; or nothing.
std::string open_to_networks() {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
      continue;
    sockaddr_storage address{};
    size = sizeof(address);
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    char host[NI_MAXHOST] = "";
    if (address.ss_family != AF_INET && address.ss_family != AF_INET6) continue;
    getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof(host), nullptr, 0,
                NI_NUMERICHOST);
    if (!std::string(host).starts_with("127.") && std::string(host) != "::1") return host;
  }
  return {};
}

void play(const std::string& scenario, Communicator& world) {
  barrier(world);
  const bool culprit = world.rank() == 1;
  if (culprit && scenario == "killed") std::raise(SIGKILL);
  if (culprit && scenario == "raises") throw DataError("rank 1: the disk is gone");
  if (scenario == "listens") {
    if (const std::string where = open_to_networks(); !where.empty())
      throw DataError("a rank listens on " + where);
    return;
  }
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
