#include "runtime/pipeline/nccl_messages.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/pipeline/edge_tag.h"

namespace penstock::runtime {
namespace {

/// A receive over NCCL. done() never blocks: it makes the computing stream wait for the message.
class Arriving final : public comm::Transfer {
 public:
  Arriving(layers::Backend& backend, layers::Stream& computing,
           std::unique_ptr<layers::Event> arrived)
      : backend_(backend), computing_(computing), arrived_(std::move(arrived)) {}
  bool done() override {
    backend_.wait(computing_, *arrived_);
    return true;
  }

 private:
  layers::Backend& backend_;
  layers::Stream& computing_;
  std::unique_ptr<layers::Event> arrived_;
};

}  // namespace

// All ranks connect the edges in one order, so two ranks that wait for each other are always at the
// same edge.
NcclMessages::NcclMessages(comm::Communicator& pipeline, const std::vector<int>& chunk_ranks,
                           layers::Backend& backend, layers::Stream& computing)
    : comm::CarriedCommunicator(pipeline), backend_(backend), computing_(computing) {
  for (int chunk = 0; chunk + 1 < static_cast<int>(chunk_ranks.size()); ++chunk) {
    const int one = chunk_ranks[chunk], next = chunk_ranks[chunk + 1];
    if (one == next) continue;  // messages within a rank are copied
    connect(chunk, false, {one, next});
    connect(chunk + 1, true, {next, one});
  }
}

/// NCCL connects an edge at its first message, for which both ranks wait. A dummy byte is sent so
/// that this happens here. Only the two ranks of the edge take part.
void NcclMessages::connect(int producer, bool gradient, const Ends& ranks) {
  const int own = carrier().rank();
  if (own != ranks.from && own != ranks.to) return;
  const std::string name =
      fmt::format("{} of chunk {} from stage {} to stage {}",
                  gradient ? "gradients" : "activations", producer, ranks.from, ranks.to);
  Edge& edge = edges_[edge_tag(producer, gradient)];
  edge.stream = backend_.make_stream();
  edge.nccl = comm::make_nccl(
      carrier(), {.ranks = {ranks.from, ranks.to}, .stream = edge.stream->native(), .name = name});
  const layers::Buffer byte = backend_.allocate(1);
  backend_.zero(*edge.stream, byte.data(), 1);
  comm::guarded(carrier().shutdown(), [&] {  // the byte must outlive the message
    const auto first = own == ranks.from
                           ? edge.nccl->send({ranks.to, 0, name}, {byte.data(), 1})
                           : edge.nccl->receive({ranks.from, 0, name}, {byte.data(), 1});
    comm::wait(*edge.nccl, *first);
  });
}

NcclMessages::Edge& NcclMessages::edge_of(const comm::Message& message) {
  const auto found = edges_.find(message.tag);
  if (found == edges_.end())
    throw CommError(fmt::format("NCCL connects no edge of rank {} for {}", rank(), message.what));
  backend_.wait(*found->second.stream, *backend_.record(computing_));
  return found->second;
}

std::unique_ptr<comm::Transfer> NcclMessages::send(const comm::Message& message,
                                                   std::span<const std::byte> data) {
  return edge_of(message).nccl->send(message, data);
}

// The receive waits for the computing stream, too, since earlier work may still read the buffer
// into which the message goes.
std::unique_ptr<comm::Transfer> NcclMessages::receive(const comm::Message& message,
                                                      std::span<std::byte> data) {
  Edge& edge = edge_of(message);
  edge.nccl->receive(message, data);
  return std::make_unique<Arriving>(backend_, computing_, backend_.record(*edge.stream));
}

void NcclMessages::progress() {
  carrier().progress();
  for (auto& [tag, edge] : edges_) edge.nccl->progress();
}

}  // namespace penstock::runtime
