#include "runtime/pipeline/tied_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/tags.h"
#include "layers/ops/optimizer.h"
#include "runtime/devices/host_window.h"

// Two layers read one table: the owner's and the reader's, which may be layers of one stage or of
// two. Each has gradient sums of its own, which lanes and replicas add as they add all others. At
// the step's end these two sums are added, owner + reader, on every layout. So the bits do not
// depend on where the layers lie. The optimizer then updates the owner's parameter alone, and what
// the owner's layer reads is copied to the reader:
//
//   owner's stage    sums ──── + ──→ norm, update ──→ new weights ──┐
//                              ↑                                    ↓
//   reader's stage   sums ─────┘                              copy of the weights
//
// If replicas share the update, each of them has the sums of its own elements only. Both stages cut
// their arenas differently, so each rank sends each owner the elements that both hold. All ranks
// visit these shares in the same order, so blocking messages can't deadlock. A message has parts of
// HostWindow::kBytes, which bound the memory.

namespace penstock::runtime {
namespace {

constexpr std::size_t kPartBytes = HostWindow::kBytes;

/// Views elements [first, first + count) of a tensor as a flat one.
layers::Tensor elements_in(const layers::Tensor& whole, std::int64_t first, std::int64_t count) {
  const std::size_t begin = static_cast<std::size_t>(first) * layers::size_of(whole.dtype);
  return {static_cast<std::byte*>(whole.data) + begin, whole.dtype, {count}};
}

/// Calls `work` for parts of a flat tensor, one after the other.
template <class Work>
void for_parts(const layers::Tensor& whole, const Work& work) {
  const auto most = static_cast<std::int64_t>(kPartBytes / layers::size_of(whole.dtype));
  for (std::int64_t first = 0; first < whole.size(); first += most)
    work(elements_in(whole, first, std::min(most, whole.size() - first)));
}

std::span<std::byte> memory_in(const layers::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data), tensor.bytes()};
}

const partition::ParameterEntry* find_parameter(
    const std::vector<partition::ParameterEntry>& parameters, std::string_view name) {
  const auto found = std::ranges::find_if(
      parameters, [&](const partition::ParameterEntry& p) { return p.decl.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

}  // namespace

/// The stages of a tied parameter, with their layouts on any replica.
struct TiedWeights::Pair {
  const partition::ParameterLayout &owners, &readers;
  int owner_stage, reader_stage;
  const partition::ParameterEntry &owner, &reader;
};

// Without trained tied parameters, other stages are not laid out.
TiedWeights::TiedWeights(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid,
                         Stage& stage)
    : backend_(backend), stream_(stream), grid_(grid), stage_(stage) {
  if (!stage.ties()) return;
  const int stages = grid.pipeline().size();
  std::vector<partition::ParameterLayout> layouts;
  for (int s = 0; s < stages; ++s) layouts.push_back(stage.layout_of(s));
  for (int r = 0; r < stages; ++r)
    for (const partition::ParameterEntry& reader : layouts[r].parameters) {
      if (!reader.decl.tied() || reader.decl.frozen()) continue;
      for (int o = 0; o < stages; ++o)
        if (const auto* owner = find_parameter(layouts[o].parameters, reader.decl.tied_to))
          links_.push_back(link_of({layouts[o], layouts[r], o, r, *owner, reader}));
    }
  if (links_.empty()) return;
  received_ = layers::host_buffer(kPartBytes);
  if (!on_host()) own_ = layers::host_buffer(kPartBytes);
}

TiedWeights::Link TiedWeights::link_of(const Pair& pair) const {
  const auto& [owners, readers, owner_stage, reader_stage, owner, reader] = pair;
  const int here = grid_.here().stage;
  const auto& own = stage_.parameters().parameters();
  Link link;
  link.name = reader.decl.name;
  link.gradients = gradient_shares(pair);
  if (here == owner_stage) link.owner = find_parameter(own, owner.decl.name);
  if (here == reader_stage) link.reader = find_parameter(own, reader.decl.name);
  for (int replica = 0; replica < grid_.replicas().size(); ++replica)
    link.weights.push_back({grid_.rank_of({owner_stage, replica}),
                            grid_.rank_of({reader_stage, replica}), 0, owner.elements});
  return link;
}

/// Returns which rank of the reader's stage has which elements for which rank of the owner's.
std::vector<TiedWeights::Share> TiedWeights::gradient_shares(const Pair& pair) const {
  std::vector<Share> shares;
  const int replicas = grid_.replicas().size();
  const bool shared = pair.owners.kinds.sharing.replicas > 1;
  for (int from = 0; from < replicas; ++from)
    for (int to = 0; to < replicas; ++to) {
      if (!shared && from != to) continue;  // every replica has all sums
      for (const auto& has : pieces_of(pair.reader, pair.readers, shared ? from : 0))
        for (const auto& needs : pieces_of(pair.owner, pair.owners, shared ? to : 0)) {
          const std::int64_t first = std::max(has.first, needs.first),
                             last = std::min(has.first + has.count, needs.first + needs.count);
          if (first < last)
            shares.push_back({grid_.rank_of({pair.reader_stage, from}),
                              grid_.rank_of({pair.owner_stage, to}), first, last - first});
        }
    }
  return shares;
}

void TiedWeights::add_gradients() {
  const ParameterStore& store = stage_.parameters();
  const int here = grid_.world().rank();
  for (const Link& link : links_)
    for (const Share& share : link.gradients) {
      const auto part = [&](const partition::ParameterEntry& entry) {
        return elements_in(store.gradient(entry, 0), share.first, share.count);
      };
      if (share.from == here && share.to == here)
        backend_.run(stream_, layers::AddInto{part(*link.reader), part(*link.owner)});
      else if (share.from == here)
        send(share, link.name, part(*link.reader));
      else if (share.to == here)
        receive(share, link.name, part(*link.owner), true);
    }
}

void TiedWeights::send_weights() {
  const ParameterStore& store = stage_.parameters();
  const int here = grid_.world().rank();
  for (const Link& link : links_)
    for (const Share& share : link.weights) {
      const auto whole = [&](const partition::ParameterEntry& entry) {
        return elements_in(store.read_by_layers(entry), share.first, share.count);
      };
      if (share.from == here && share.to == here) {
        const layers::Tensor from = whole(*link.owner);
        backend_.copy(stream_, whole(*link.reader).data, from.data, from.bytes());
      } else if (share.from == here) {
        send(share, link.name, whole(*link.owner));
      } else if (share.to == here) {
        receive(share, link.name, whole(*link.reader), false);
      }
    }
}

void TiedWeights::send(const Share& share, const std::string& name,
                       const layers::Tensor& elements) {
  const comm::Message message{share.to, comm::tags::tied, fmt::format("part of {}", name)};
  backend_.synchronize(stream_);
  for_parts(elements, [&](const layers::Tensor& part) {
    std::span<const std::byte> bytes = memory_in(part);
    if (!on_host()) {
      backend_.copy_out(stream_, own_.data(), part.data, part.bytes());
      backend_.synchronize(stream_);
      bytes = {own_.data(), part.bytes()};
    }
    await(*grid_.world().send(message, bytes));
  });
}

void TiedWeights::receive(const Share& share, const std::string& name,
                          const layers::Tensor& elements, bool adds) {
  const comm::Message message{share.from, comm::tags::tied, fmt::format("part of {}", name)};
  backend_.synchronize(stream_);
  for_parts(elements, [&](const layers::Tensor& part) {
    const layers::Tensor received{received_.data(), part.dtype, part.shape};
    await(*grid_.world().receive(message, memory_in(received)));
    if (adds) return add(received, part);
    backend_.copy_in(stream_, part.data, received.data, part.bytes());
    backend_.synchronize(stream_);  // the next part takes the same memory
  });
}

/// Adds numbers in the host's memory to a tensor. A device's numbers come to the host, since the
/// plan gives the device no memory for more.
void TiedWeights::add(const layers::Tensor& received, const layers::Tensor& to) {
  if (on_host()) {
    backend_.run(stream_, layers::AddInto{received, to});
    return;
  }
  backend_.copy_out(stream_, own_.data(), to.data, to.bytes());
  backend_.synchronize(stream_);
  float* const sums = reinterpret_cast<float*>(own_.data());
  const auto* const others = received.as<float>();
  for (std::int64_t i = 0; i < to.size(); ++i) sums[i] += others[i];
  backend_.copy_in(stream_, to.data, own_.data(), to.bytes());
  backend_.synchronize(stream_);
}

/// Waits, and lets the pipeline's last messages leave meanwhile.
void TiedWeights::await(comm::Transfer& transfer) {
  comm::Backoff backoff;
  while (!transfer.done()) {
    try {
      grid_.world().progress();
      stage_.progress();
    } catch (const Error&) {
      transfer.done();  // also fails, with an error that names the message
      throw;
    }
    backoff.pause();
  }
}

}  // namespace penstock::runtime
