#pragma once

#include <nccl.h>

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/emulation/streams.h"

namespace emulated_cuda::nccl {

/// One rank's side of a message, or its share in a sum over all ranks.
struct Part {
  enum class Kind { send, receive, all_reduce };

  Kind kind = Kind::send;
  int peer = 0;  // of a message
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclInt8;
  CUstream_st* stream = nullptr;  // once it is posted
  bool done = false;

  std::size_t bytes() const;
};

/// The ranks that connected with one id. A part is done when its counterparts have been posted as
/// well: nothing is buffered, as NCCL buffers nothing long.
class Clique {
 public:
  explicit Clique(int size) : size_(size), collectives_(static_cast<std::size_t>(size)) {}

  int size() const { return size_; }
  /// fail() where that rank is here already.
  void join(int rank, int host);
  bool complete() const { return static_cast<int>(hosts_.size()) == size_; }

  /// The rank's stream has come to the part, which must stay until it is done or the clique is
  /// left. fail() where its counterpart has another size.
  void post(int rank, Part& part);

  /// The rank leaves it while messages are under way: nothing that is posted gets done any more, by
  /// no rank.
  void lose(int rank);
  /// Whether `rank` is told that another was lost: of its own host NCCL sees nothing.
  bool loss_shows_at(int rank) const;

 private:
  using Edge = std::pair<int, int>;  // sender, receiver

  void match(const Edge& edge);
  void reduce();

  int size_;
  std::map<int, int> hosts_;  // of each rank
  std::set<int> lost_;
  std::map<Edge, std::deque<Part*>> sends_, receives_;
  std::vector<std::deque<Part*>> collectives_;  // of each rank
};

}  // namespace emulated_cuda::nccl
