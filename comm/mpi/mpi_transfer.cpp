#include "comm/mpi/mpi_transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

// A send starts all pieces of its message at once. A receive takes them one by one, since it must
// see the size of a piece before MPI may write it. It asks by MPI_Improbe, which takes the message
// out of MPI's queue, so that no other receive can match it, and then receives that very message by
// MPI_Imrecv.
//
// MPI keeps the order of messages with one sender, receiver and tag. So receives of an edge stand
// in a queue, in which only the first may probe: whatever comes next on that edge belongs to it. A
// message whose size is a whole number of pieces ends with an empty one, so a receiver that expects
// less meets a full piece in place of its last one.

namespace penstock::comm {
namespace {

[[noreturn]] void fail(const MpiSide& side, const char* verb, const std::string& why) {
  throw CommError(fmt::format("rank {}, {} {} bytes ({}), peer rank {}, tag {}: {}", side.rank,
                              verb, side.bytes, side.message.what, side.message.peer,
                              side.message.tag, why));
}

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

/// Returns true once all requests are complete.
bool all_complete(const MpiSide& side, const char* verb, std::vector<MPI_Request>& requests) {
  int complete = 0;
  const int error = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &complete,
                                MPI_STATUSES_IGNORE);
  if (error != MPI_SUCCESS) fail(side, verb, text_of(error));
  return complete != 0;
}

/// Frees requests that are not complete, when an exception propagates. Waiting for the peer could
/// take for ever. Only calls of MPI move data, and the next one is MPI_Abort.
void give_up(std::vector<MPI_Request>& requests) noexcept {
  for (MPI_Request& request : requests)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

}  // namespace

int MpiSide::size_of_piece(std::size_t piece) const {
  return static_cast<int>(std::min(piece_bytes, bytes - piece * piece_bytes));
}

MpiSend::MpiSend(MpiSide side) : side_(std::move(side)) {
  for (std::size_t piece = 0; piece < side_.pieces(); ++piece) {
    const int error = MPI_Isend(side_.start_of_piece(piece), side_.size_of_piece(piece), MPI_BYTE,
                                side_.message.peer, side_.message.tag, MPI_COMM_WORLD,
                                &requests_.emplace_back(MPI_REQUEST_NULL));
    if (error != MPI_SUCCESS) fail(side_, "sending", text_of(error));
  }
}

MpiSend::~MpiSend() { give_up(requests_); }

bool MpiSend::done() { return all_complete(side_, "sending", requests_); }

MpiReceive::MpiReceive(MpiSide side, MpiWaiting& waiting)
    : side_(std::move(side)), waiting_(waiting) {
  waiting_[{side_.message.peer, side_.message.tag}].push_back(this);
}

MpiReceive::~MpiReceive() {
  if (requests_.size() < side_.pieces())
    std::erase(waiting_[{side_.message.peer, side_.message.tag}], this);
  give_up(requests_);
}

bool MpiReceive::done() {
  if (requests_.size() < side_.pieces()) match(waiting_[{side_.message.peer, side_.message.tag}]);
  return requests_.size() == side_.pieces() && all_complete(side_, "receiving", requests_);
}

void MpiReceive::match(std::deque<MpiReceive*>& queue) {
  while (!queue.empty()) {
    MpiReceive& first = *queue.front();
    while (first.requests_.size() < first.side_.pieces())
      if (!first.take_piece()) return;
    queue.pop_front();
  }
}

bool MpiReceive::take_piece() {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int error =
      MPI_Improbe(side_.message.peer, side_.message.tag, MPI_COMM_WORLD, &found, &message, &status);
  if (error != MPI_SUCCESS) fail(side_, "receiving", text_of(error));
  if (!found) return false;
  const std::size_t piece = requests_.size();
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  if (bytes != side_.size_of_piece(piece))
    fail(side_, "receiving",
         fmt::format("{} bytes came; the ranks disagree on the shape",
                     piece * side_.piece_bytes + static_cast<std::size_t>(bytes)));
  error = MPI_Imrecv(side_.start_of_piece(piece), static_cast<int>(bytes), MPI_BYTE, &message,
                     &requests_.emplace_back(MPI_REQUEST_NULL));
  if (error != MPI_SUCCESS) fail(side_, "receiving", text_of(error));
  return true;
}

}  // namespace penstock::comm
