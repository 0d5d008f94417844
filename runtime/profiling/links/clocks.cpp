#include "runtime/profiling/links/clocks.h"

#include <chrono>
#include <limits>
#include <span>

#include "comm/tags.h"

namespace penstock::runtime {
namespace {

constexpr int kPings = 50;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void send(comm::Communicator& ranks, const comm::Message& message, const double& number) {
  comm::wait(ranks, *ranks.send(message, std::as_bytes(std::span(&number, 1))));
}

double receive(comm::Communicator& ranks, const comm::Message& message) {
  double number = 0;
  comm::wait(ranks, *ranks.receive(message, std::as_writable_bytes(std::span(&number, 1))));
  return number;
}

/// The messages of a ping, in time:
///
///   this rank    sent ───────╮              ╭───── back
///   rank 0                   ╰── theirs ────╯
///
/// The fastest ping is used, since it leaves the least room for ways of unequal length.
double ahead_of_rank_0(comm::Communicator& ranks) {
  const comm::Message zero{0, comm::tags::clock, "comparison of clocks"};
  double fastest = std::numeric_limits<double>::infinity(), offset = 0;
  for (int ping = 0; ping < kPings; ++ping) {
    const double sent = now();
    send(ranks, zero, sent);
    const double theirs = receive(ranks, zero), back = now();
    if (back - sent >= fastest) continue;
    fastest = back - sent;
    offset = (sent + back) / 2 - theirs;
  }
  return offset;
}

}  // namespace

// Rank 0 answers one rank after another. So only a rank's first ping waits for other ranks, and it
// does not count, being slow.
double clock_offset(comm::Communicator& ranks) {
  if (ranks.rank() > 0) return ahead_of_rank_0(ranks);
  for (int rank = 1; rank < ranks.size(); ++rank) {
    const comm::Message peer{rank, comm::tags::clock, "comparison of clocks"};
    for (int ping = 0; ping < kPings; ++ping) {
      receive(ranks, peer);
      send(ranks, peer, now());
    }
  }
  return 0;
}

}  // namespace penstock::runtime
