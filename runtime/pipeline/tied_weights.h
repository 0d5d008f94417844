#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "layers/backend.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {

/// Keeps parameters equal that are tied (ParamDecl::tied_to), wherever their layers lie. The stage
/// of the named parameter owns it. The stage of the other layer, the reader, has gradient sums and
/// a copy of what the owner's layer reads. Messages pass through the hosts' memory.
class TiedWeights {
 public:
  /// All arguments must outlive it.
  TiedWeights(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage);

  /// Adds each reader's gradient sums, which are complete, to the owner's: owner + reader, for
  /// each element once. Collective over all ranks.
  void add_gradients();
  /// Copies what the owner's layer reads to the reader. Collective over all ranks.
  void send_weights();

 private:
  /// Elements [first, first + count) of a parameter, which the rank `from` has and `to` needs.
  struct Share {
    int from = 0, to = 0;
    std::int64_t first = 0, count = 0;
  };
  struct Pair;
  struct Link {
    std::string name;                                   // of the reader's parameter
    const partition::ParameterEntry* owner = nullptr;   // null: held by another rank
    const partition::ParameterEntry* reader = nullptr;  // null: held by another rank
    std::vector<Share> gradients, weights;
  };

  Link link_of(const Pair& pair) const;
  std::vector<Share> gradient_shares(const Pair& pair) const;
  void send(const Share& share, const std::string& name, const layers::Tensor& elements);
  void receive(const Share& share, const std::string& name, const layers::Tensor& elements,
               bool adds);
  void add(const layers::Tensor& received, const layers::Tensor& to);
  void await(comm::Transfer& transfer);
  bool on_host() const { return backend_.kind() == layers::DeviceKind::cpu; }

  layers::Backend& backend_;
  layers::Stream& stream_;
  const RankGrid& grid_;
  Stage& stage_;
  std::vector<Link> links_;
  layers::Buffer received_, own_;  // parts of messages, in the host's memory
};

}  // namespace penstock::runtime
