#include "runtime/optim/parameter_norms.h"

#include <cmath>
#include <functional>

#include "layers/ops/optimizer.h"
#include "runtime/optim/gradient_norm.h"

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

std::vector<double> norms(Backend& backend, Stream& stream, const ParameterStore& store,
                          const UpdateArguments& with,
                          const std::function<Tensor(const ParameterPiece&)>& values) {
  std::vector<double> blocks(block_count(store));  // of the stage
  const auto of = [&](const auto& part, std::int64_t count) {
    return std::span(blocks).subspan(part.first_block - first_block(store), count);
  };
  for (const ParameterPiece& p : store.owned())
    backend.run(stream, SquaredSums{values(p), of(p, p.blocks())});
  backend.finish(stream);
  if (with.sum_over_owners) with.sum_over_owners(blocks);
  std::vector<double> norms;
  for (const ParameterEntry& p : store.parameters())
    norms.push_back(norm_of(of(p, norm_blocks(p.elements))));
  return norms;
}

}  // namespace

double gradient_norm(const ParameterEntry& parameter, const UpdateArguments& with) {
  return with.gradient_factor *
         norm_of(with.squared_sums.subspan(parameter.first_block, norm_blocks(parameter.elements)));
}

std::vector<double> weight_norms(Backend& backend, Stream& stream, const ParameterStore& store,
                                 const UpdateArguments& with) {
  return norms(backend, stream, store, with,
               [&](const ParameterPiece& p) { return store.weight(p); });
}

std::vector<double> direction_norms(Backend& backend, Stream& stream, const ParameterStore& store,
                                    const UpdateArguments& with) {
  return norms(backend, stream, store, with,
               [&](const ParameterPiece& p) { return store.gradient(p, 0); });
}

}  // namespace penstock
