#pragma once

#include <map>
#include <memory>
#include <vector>

#include "comm/carried.h"
#include "comm/nccl.h"
#include "layers/backend.h"

namespace penstock::runtime {

/// Messages of devices' memory between neighbouring chunks, over NCCL. Each edge (producing chunk,
/// activations or gradients) between two ranks has a communicator and a stream of its own, so that
/// none waits for another's. What is sent is what the computing stream has left there. A receive is
/// done at once for the host; what the computing stream is asked for from then on finds the
/// message. Whoever waits for that stream calls progress() meanwhile, which raises CommError where
/// a peer is dead.
class NcclMessages final : public comm::CarriedCommunicator {
 public:
  /// Connects every edge: all ranks of `pipeline` call this; chunk c of the layer sequence is on
  /// rank chunk_ranks[c]. Communicator, backend and stream must outlive it, and it every transfer.
  /// CommError as from make_nccl.
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
  /// Behind what the computing stream has been asked for.
  Edge& edge_of(const comm::Message& message);

  layers::Backend& backend_;
  layers::Stream& computing_;
  std::map<int, Edge> edges_;  // by tag
};

}  // namespace penstock::runtime
