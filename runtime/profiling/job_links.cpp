#include "runtime/profiling/job_links.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "layers/ops/linear.h"
#include "runtime/devices/rank_info.h"
#include "runtime/pipeline/edge_tag.h"
#include "runtime/pipeline/nccl_messages.h"
#include "runtime/profiling/links/clocks.h"

namespace penstock::runtime {
namespace {

/// Enqueues matrix products on a stream that take a given time if nothing else runs.
class DeviceWork {
 public:
  DeviceWork(layers::Backend& backend, layers::Stream& stream)
      : backend_(backend), stream_(stream), memory_(backend.allocate(kBytes)) {
    backend.zero(stream, memory_.data(), kBytes);
    multiply(1);
    backend.synchronize(stream);
    seconds_each_ = seconds_of([&] {
                      multiply(kTrial);
                      backend.synchronize(stream);
                    }) /
                    kTrial;
  }

  void run(double seconds) { multiply(1 + static_cast<int>(seconds / seconds_each_)); }

 private:
  static constexpr int kTrial = 2;
  static constexpr std::int64_t kRows = 1024, kIn = 256, kOut = 256;
  static constexpr std::size_t kBytes = sizeof(float) * (kRows * kIn + kOut * kIn + kRows * kOut);

  void multiply(int times) {
    auto* const first = reinterpret_cast<float*>(memory_.data());
    const auto f32 = layers::DType::f32;
    for (int i = 0; i < times; ++i)
      backend_.run(stream_, layers::LinearForward{
                                .x_FI = {first, f32, {kRows, kIn}},
                                .w_OI = {first + kRows * kIn, f32, {kOut, kIn}},
                                .b_O = {},
                                .y_FO = {first + (kRows + kOut) * kIn, f32, {kRows, kOut}}});
  }

  layers::Backend& backend_;
  layers::Stream& stream_;
  layers::Buffer memory_;
  double seconds_each_ = 0;
};

/// A link is a pipeline of two ranks with one chunk each, so it has exactly the edges, streams and
/// events of a training. Computation runs on the computing stream, and messages wait for it by the
/// same rules.
class NcclLink final : public LinkEnd {
 public:
  NcclLink(comm::Communicator& world, layers::Backend& backend, int peer)
      : backend_(backend),
        peer_(peer),
        first_(std::min(world.rank(), peer)),
        memory_(backend.allocate(kLinkMessages * kLinkMessage)),
        computing_(backend.make_stream([this] {
          if (messages_ != nullptr) messages_->progress();
        })),
        messages_(std::make_unique<NcclMessages>(
            world, std::vector<int>{first_, std::max(world.rank(), peer)}, backend, *computing_)) {
    backend.zero(*computing_, memory_.data(), memory_.bytes());
  }

  void send(std::size_t bytes, int times) override {
    for (int i = 0; i < times; ++i)
      leaving_.push_back(messages_->send(message_from(messages_->rank()), place(i, bytes)));
  }
  void receive(std::size_t bytes, int times) override {
    for (int i = 0; i < times; ++i)
      comm::wait(*messages_, *messages_->receive(message_from(peer_), place(i, bytes)));
  }
  void compute(double seconds) override {
    if (!work_) work_.emplace(backend_, *computing_);
    work_->run(seconds);
  }
  void finish() override {
    for (const auto& transfer : leaving_) comm::wait(*messages_, *transfer);
    leaving_.clear();
    backend_.synchronize(*computing_);
  }

 private:
  /// Messages of the lower rank are activations, those of the higher one gradients.
  comm::Message message_from(int sender) const {
    const bool gradient = sender != first_;
    return {peer_, edge_tag(gradient ? 1 : 0, gradient), "measurement of a link"};
  }
  std::span<std::byte> place(int number, std::size_t bytes) const {
    return {memory_.data() + static_cast<std::size_t>(number) * kLinkMessage, bytes};
  }

  layers::Backend& backend_;
  int peer_, first_;
  layers::Buffer memory_;
  std::unique_ptr<layers::Stream> computing_;
  std::unique_ptr<NcclMessages> messages_;
  std::vector<std::unique_ptr<comm::Transfer>> leaving_;
  std::optional<DeviceWork> work_;
};

}  // namespace

std::unique_ptr<LinkEnd> open_nccl_link(comm::Communicator& world, layers::Backend& backend,
                                        int peer) {
  return std::make_unique<NcclLink>(world, backend, peer);
}

OpenLink job_links(comm::Communicator& world, const RankDevice& device) {
  if (device.links != DeviceLinks::nccl) return host_links(world);
  return [&world, backend = device.backend.get()](int peer) {
    return open_nccl_link(world, *backend, peer);
  };
}

std::string_view name_of(DeviceLinks links) { return links == DeviceLinks::nccl ? "nccl" : "host"; }

std::string_view text_of(DeviceLinks links) {
  return links == DeviceLinks::nccl ? "device memory, over NCCL"
                                    : "host memory, by the ranks' own messages";
}

NeighbourSpeeds neighbour_speeds(const std::string& device, comm::Communicator& world) {
  configs::TrainerConfig config;
  config.device = device;
  const RankDevice own = choose_device(config, world);
  return {own.links, link_speeds(world, neighbours(world.size()), job_links(world, own),
                                 nodes_of(world).of_rank)};
}

}  // namespace penstock::runtime
