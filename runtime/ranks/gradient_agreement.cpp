#include "runtime/ranks/gradient_agreement.h"

#include <algorithm>

#include "comm/collectives.h"

namespace penstock {

GradientAgreement::GradientAgreement(Backend& backend, Stream& computing, const Grid& grid,
                                     const Options& options)
    : backend_(backend),
      computing_(computing),
      grid_(grid),
      options_(options),
      on_device_(backend.kind() != DeviceKind::cpu &&
                 (options.links == DeviceLinks::nccl || grid.world().size() == 1)),
      numbers_(backend.allocate(agreement_numbers(options.model_blocks) * sizeof(double))),
      verdict_(backend.allocate(sizeof(Verdict))) {
  if (!on_device_ || grid.world().size() == 1) return;
  stream_ = backend.make_stream();
  nccl_ = make_nccl(
      grid.world(),
      {.stream = stream_->native(), .name = "norms of all ranks", .channels = kNormChannels});
  backend_.zero(*stream_, numbers_.data(), numbers_.bytes());
  wait(*nccl_, *nccl_->all_reduce(std::span<double>(sums(), count())));
}

std::size_t GradientAgreement::count() const {
  const auto blocks = static_cast<std::size_t>(options_.model_blocks);
  return options_.largest ? 2 * blocks : blocks;
}

const Verdict* GradientAgreement::judge(const ParameterStore& store, double loss_scale,
                                        std::span<double> told) {
  measure(store);
  exchange(told);
  auto* const verdict = reinterpret_cast<Verdict*>(verdict_.data());
  backend_.run(computing_,
               JudgeGradient{.blocks = options_.model_blocks,
                             .sums = sums(),
                             .largest = options_.largest ? sums() + options_.model_blocks : nullptr,
                             .loss_scale = loss_scale,
                             .clip_norm = options_.clip_norm,
                             .verdict = verdict});
  return verdict;
}

/// Replicas that have the same sums let the first give them.
void GradientAgreement::measure(const ParameterStore& store) {
  backend_.zero(computing_, numbers_.data(), count() * sizeof(double));
  if (grid_.here().replica != 0 && !store.shared()) return;
  const ArenaBlocks blocks = store.table().all();
  const Tensor gradients = store.gradient_arena();
  backend_.run(computing_, SquaredSums{blocks, gradients, sums()});
  if (options_.largest)
    backend_.run(computing_, LargestMagnitude{blocks, gradients, sums() + options_.model_blocks});
}

void GradientAgreement::exchange(std::span<double> told) {
  if (nccl_) {
    backend_.wait(*stream_, *backend_.mark(computing_));
    nccl_->all_reduce(std::span<double>(sums(), count()));
    backend_.wait(computing_, *backend_.mark(*stream_));
  }
  if (on_device_) return;
  std::vector<double> all(told.size() + count());
  std::ranges::copy(told, all.begin());
  const auto behind = std::span(all).subspan(told.size());
  backend_.copy_out(computing_, behind.data(), sums(), behind.size_bytes());
  backend_.finish(computing_);
  sum_disjoint(grid_.world(), all);
  std::copy_n(all.begin(), told.size(), told.begin());
  backend_.copy_in(computing_, sums(), behind.data(), behind.size_bytes());
}

Verdict GradientAgreement::verdict() {
  Verdict verdict;
  backend_.copy_out(computing_, &verdict, verdict_.data(), sizeof verdict);
  backend_.finish(computing_);
  return verdict;
}

std::vector<double> GradientAgreement::squared_sums() {
  std::vector<double> host(static_cast<std::size_t>(options_.model_blocks));
  backend_.copy_out(computing_, host.data(), sums(), host.size() * sizeof(double));
  backend_.finish(computing_);
  return host;
}

}  // namespace penstock
