#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// One side of a message over MPI_COMM_WORLD. A message travels in pieces of at most 2^31 - 1
/// bytes. All but the last are full, so a peer that expects another size meets a piece of another
/// size.
struct MpiSide {
  int rank = 0;  // rank of this process
  Message message;
  std::byte* data = nullptr;  // of a send: read only
  std::size_t bytes = 0;
  std::size_t piece_bytes = 0;

  std::size_t pieces() const { return bytes / piece_bytes + 1; }
  int size_of_piece(std::size_t piece) const;
  std::byte* start_of_piece(std::size_t piece) const { return data + piece * piece_bytes; }
};

class MpiSend final : public Transfer {
 public:
  explicit MpiSend(MpiSide side);
  MpiSend(const MpiSend&) = delete;
  MpiSend& operator=(const MpiSend&) = delete;
  ~MpiSend() override;
  bool done() override;

 private:
  MpiSide side_;
  std::vector<MPI_Request> requests_;
};

class MpiReceive;

/// Receives that wait for their message, per (peer, tag) in the order of posting.
using MpiWaiting = std::map<std::pair<int, int>, std::deque<MpiReceive*>>;

/// A receive, which asks MPI for the size of an incoming message before it gives MPI its memory.
/// Open MPI 4.1 writes past the end of a posted receive if the message is longer (shared memory and
/// TCP).
class MpiReceive final : public Transfer {
 public:
  MpiReceive(MpiSide side, MpiWaiting& waiting);
  MpiReceive(const MpiReceive&) = delete;
  MpiReceive& operator=(const MpiReceive&) = delete;
  ~MpiReceive() override;
  bool done() override;

  /// Takes incoming pieces for the first receive of `queue`, then for the next one, and so on.
  /// CommError if a size differs.
  static void match(std::deque<MpiReceive*>& queue);

 private:
  bool take_piece();

  MpiSide side_;
  MpiWaiting& waiting_;
  std::vector<MPI_Request> requests_;  // one per piece that has come
};

}  // namespace penstock::comm
