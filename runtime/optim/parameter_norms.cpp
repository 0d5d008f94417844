#include "runtime/optim/parameter_norms.h"

#include <cmath>

namespace penstock {
namespace {

std::int64_t first_block(const ParameterStore& store) {
  return store.parameters().empty() ? 0 : store.parameters().front().first_block;
}

std::int64_t block_count(const ParameterStore& store) {
  std::int64_t blocks = 0;
  for (const ParameterEntry& p : store.parameters()) blocks += norm_blocks(p.elements);
  return blocks;
}

/// √Σ, blocks added in their order by every rank alike.
double norm_of(std::span<const double> blocks) {
  double sum = 0;
  for (double block : blocks) sum += block;
  return std::sqrt(sum);
}

std::vector<double> norms(Backend& backend, Stream& stream, const ParameterStore& store,
                          const UpdateArguments& with, const Tensor& arena, ArenaOf of) {
  std::vector<double> blocks(block_count(store));  // of the stage
  const std::size_t bytes = blocks.size() * sizeof(double);
  double* const sums = with.room + first_block(store);
  backend.zero(stream, sums, bytes);
  backend.run(stream, SquaredSums{store.table().all(), arena, with.room, of});
  backend.copy_out(stream, blocks.data(), sums, bytes);
  backend.finish(stream);
  if (with.sum_over_owners) with.sum_over_owners(blocks);
  std::vector<double> norms;
  for (const ParameterEntry& p : store.parameters())
    norms.push_back(norm_of(
        std::span(blocks).subspan(p.first_block - first_block(store), norm_blocks(p.elements))));
  return norms;
}

}  // namespace

double gradient_norm(const ParameterEntry& parameter, const UpdateArguments& with) {
  return with.factor.otherwise *
         norm_of(with.squared_sums.subspan(parameter.first_block, norm_blocks(parameter.elements)));
}

std::vector<double> weight_norms(Backend& backend, Stream& stream, const ParameterStore& store,
                                 const UpdateArguments& with) {
  return norms(backend, stream, store, with, store.weight_arena(), ArenaOf::weights);
}

std::vector<double> direction_norms(Backend& backend, Stream& stream, const ParameterStore& store,
                                    const UpdateArguments& with) {
  return norms(backend, stream, store, with, store.gradient_arena(), ArenaOf::gradients);
}

}  // namespace penstock
