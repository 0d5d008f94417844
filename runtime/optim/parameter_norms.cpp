#include "runtime/optim/parameter_norms.h"

#include <cmath>
#include <functional>

#include "layers/ops/optimizer.h"
#include "runtime/optim/gradient_norm.h"

namespace penstock {
namespace {

std::vector<double> norms(Backend& backend, Stream& stream, const ParameterStore& store,
                          const std::function<Tensor(const ParameterEntry&)>& values) {
  std::vector<std::vector<double>> blocks;  // of each parameter
  for (const ParameterEntry& p : store.parameters()) {
    blocks.emplace_back(norm_blocks(p.elements));
    backend.run(stream, SquaredSums{values(p), blocks.back()});
  }
  backend.finish(stream);
  std::vector<double> norms;
  for (const std::vector<double>& sums : blocks) norms.push_back(norm_of(sums));
  return norms;
}

}  // namespace

double gradient_norm(const ParameterEntry& parameter, const UpdateArguments& with) {
  return with.gradient_factor *
         norm_of(with.squared_sums.subspan(parameter.first_block, norm_blocks(parameter.elements)));
}

std::vector<double> weight_norms(Backend& backend, Stream& stream, const ParameterStore& store) {
  return norms(backend, stream, store, [&](const ParameterEntry& p) { return store.weight(p); });
}

std::vector<double> direction_norms(Backend& backend, Stream& stream, const ParameterStore& store) {
  return norms(backend, stream, store,
               [&](const ParameterEntry& p) { return store.gradient(p, 0); });
}

}  // namespace penstock
