#pragma once

#include <map>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/nccl.h"
#include "layers/backend.h"

namespace penstock::runtime {

/// Messages of device memory between neighbouring chunks, over NCCL. An edge is a producing chunk
/// and a kind (activations or gradients). Each edge has its own communicator and stream, so that no
/// edge waits for another. A send transmits the data as the computing stream has left it. A receive
/// returns to the host at once; work that is enqueued on the computing stream afterwards sees the
/// message. Callers that wait for that stream must call progress() meanwhile, which throws
/// CommError if a peer has died.
class NcclMessages final : public comm::CarriedCommunicator {
 public:
  /// Connects every edge. Collective: all ranks of `pipeline` call this. Chunk c of the layer
  /// sequence is on rank chunk_ranks[c]. The communicator, the backend and the stream must outlive
  /// this, and this must outlive every transfer. CommError as from make_nccl.
  NcclMessages(comm::Communicator& pipeline, const std::vector<int>& chunk_ranks,
               layers::Backend& backend, layers::Stream& computing);

  std::unique_ptr<comm::Transfer> send(const comm::Message&, std::span<const std::byte>) override;
  std::unique_ptr<comm::Transfer> receive(const comm::Message&, std::span<std::byte>) override;
  void progress() override;

 private:
  struct Edge {
    std::unique_ptr<layers::Stream> stream;
    std::unique_ptr<comm::NcclCommunicator> nccl;
  };
  struct Ends {
    int from = 0, to = 0;  // ranks
  };
  void connect(int producer, bool gradient, const Ends& ranks);
  /// Returns the edge of a message. Its stream waits for the work that is enqueued on the computing
  /// stream by now.
  Edge& edge_of(const comm::Message& message);

  layers::Backend& backend_;
  layers::Stream& computing_;
  std::map<int, Edge> edges_;  // edges by message tag
};

}  // namespace penstock::runtime
