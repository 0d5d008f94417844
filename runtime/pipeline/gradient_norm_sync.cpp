#include "runtime/pipeline/gradient_norm_sync.h"

#include <algorithm>

#include "comm/collectives.h"

namespace penstock::runtime {

// The norm is a sum over norm blocks (65,536 elements of a parameter). Its bits would depend on the
// layout if ranks added partial sums. So ranks exchange the sums of single blocks instead: an array
// with one entry per block of the model, zero where another rank owns the block. The sum of these
// arrays over ranks is exact, and GradientNorm adds its entries in the same order on every rank. A
// step exchanges 8 bytes per block, twice that if the largest magnitude is wanted. local_result(),
// start() and await() are the asynchronous form for post-validation
// (docs/design/optimizer.md).

GradientNormSync::GradientNormSync(layers::Backend& backend, layers::Stream& computing,
                                   const RankGrid& grid, const Options& options)
    : backend_(backend),
      computing_(computing),
      grid_(grid),
      options_(options),
      on_device_(backend.kind() != layers::DeviceKind::cpu &&
                 (options.links == DeviceLinks::nccl || grid.world().size() == 1)),
      numbers_(backend.allocate(partition::gradient_norm_numbers(options.model_blocks) *
                                sizeof(double))),
      results_(backend.allocate(2 * sizeof(layers::GradientNormResult))) {
  if (!on_device_ || grid.world().size() == 1) return;
  stream_ = backend.make_stream();
  nccl_ = comm::make_nccl(
      grid.world(),
      {.stream = stream_->native(), .name = "norms of all ranks", .channels = kNormChannels});
  backend_.zero(*stream_, numbers_.data(), numbers_.bytes());
  comm::wait(*nccl_, *nccl_->all_reduce(std::span<double>(sums(), count())));
}

std::size_t GradientNormSync::count() const {
  const auto blocks = static_cast<std::size_t>(options_.model_blocks);
  return options_.largest ? 2 * blocks : blocks;
}

const layers::GradientNormResult* GradientNormSync::sync(const ParameterStore& store,
                                                         double loss_scale,
                                                         std::span<double> told) {
  measure(store);
  exchange(told);
  combine(computing_, loss_scale, result_at(0));
  backend_.copy_out(computing_, &result_, result_at(0), sizeof result_);
  return result_at(0);
}

void GradientNormSync::combine(layers::Stream& stream, double loss_scale,
                               layers::GradientNormResult* result) {
  backend_.run(stream, layers::GradientNorm{
                           .blocks = options_.model_blocks,
                           .sums = sums(),
                           .largest = options_.largest ? sums() + options_.model_blocks : nullptr,
                           .loss_scale = loss_scale,
                           .clip_norm = options_.clip_norm,
                           .result = result});
}

/// Writes the squared sums of this rank's blocks and zeros for all others. If replicas hold the
/// same sums, the first one contributes them.
void GradientNormSync::measure(const ParameterStore& store) {
  backend_.zero(computing_, numbers_.data(), count() * sizeof(double));
  if (grid_.here().replica != 0 && !store.shared()) return;
  const layers::ArenaBlocks blocks = store.table().all();
  const layers::Tensor gradients = store.gradient_arena();
  backend_.run(computing_, layers::SquaredSums{blocks, gradients, sums()});
  if (options_.largest)
    backend_.run(computing_,
                 layers::LargestMagnitude{blocks, gradients, sums() + options_.model_blocks});
}

/// Returns a copy, in the host's memory, of `told` followed by this rank's numbers.
std::vector<double> GradientNormSync::with_numbers(std::span<const double> told) {
  std::vector<double> all(told.begin(), told.end());
  all.resize(told.size() + count());
  backend_.copy_out(computing_, all.data() + told.size(), sums(), count() * sizeof(double));
  backend_.synchronize(computing_);
  return all;
}

/// Sums the numbers over all ranks, after the work that is enqueued on the computing stream by now.
std::unique_ptr<comm::Transfer> GradientNormSync::sum_over_nccl() {
  backend_.wait(*stream_, *backend_.record(computing_));
  return nccl_->all_reduce(std::span<double>(sums(), count()));
}

void GradientNormSync::exchange(std::span<double> told) {
  if (nccl_) {
    sum_over_nccl();
    backend_.wait(computing_, *backend_.record(*stream_));
  }
  if (on_device_) return;
  std::vector<double> all = with_numbers(told);
  comm::sum_disjoint(grid_.world(), all);
  std::copy_n(all.begin(), told.size(), told.begin());
  backend_.copy_in(computing_, sums(), all.data() + told.size(), count() * sizeof(double));
}

layers::GradientNormResult GradientNormSync::result() {
  backend_.synchronize(computing_);
  return result_;
}

layers::GradientNormResult GradientNormSync::result_on(layers::Stream& stream) {
  layers::GradientNormResult result;
  backend_.copy_out(stream, &result, result_at(0), sizeof result);
  backend_.synchronize(stream);
  return result;
}

/// NCCL's sum overwrites this rank's numbers in place, so it starts only after the local result is
/// computed from them.
const layers::GradientNormResult* GradientNormSync::local_result(const ParameterStore& store,
                                                                 double loss_scale) {
  loss_scale_ = loss_scale;
  measure(store);
  combine(computing_, loss_scale, result_at(1));
  if (nccl_) summing_ = sum_over_nccl();
  return result_at(1);
}

void GradientNormSync::start(std::span<const double> told) {
  asked_.emplace(grid_.world(),
                 on_device_ ? std::vector(told.begin(), told.end()) : with_numbers(told));
}

layers::GradientNormResult GradientNormSync::await(std::span<double> told) {
  const std::vector<double> all = asked_->finish();
  asked_.reset();
  if (summing_) comm::wait(*nccl_, *summing_);
  summing_.reset();
  std::copy_n(all.begin(), told.size(), told.begin());
  layers::Stream& stream = nccl_ ? *stream_ : computing_;
  if (!on_device_)
    backend_.copy_in(stream, sums(), all.data() + told.size(), count() * sizeof(double));
  combine(stream, loss_scale_, result_at(0));
  return result_on(stream);
}

std::vector<double> GradientNormSync::squared_sums() {
  std::vector<double> host(static_cast<std::size_t>(options_.model_blocks));
  backend_.copy_out(computing_, host.data(), sums(), host.size() * sizeof(double));
  backend_.synchronize(computing_);
  return host;
}

}  // namespace penstock::runtime
