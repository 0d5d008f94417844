#include "runtime/optim/gradient_norm.h"

#include <algorithm>
#include <cmath>

namespace penstock {

void write_squared_sums(Backend& backend, Stream& stream, const ParameterStore& parameters,
                        std::span<double> model_blocks) {
  for (const ParameterPiece& p : parameters.owned())
    backend.run(stream, SquaredSums{parameters.gradient(p, 0),
                                    model_blocks.subspan(p.first_block, p.blocks())});
}

double largest_gradient(Backend& backend, Stream& stream, const ParameterStore& parameters) {
  std::vector<std::vector<double>> blocks;
  for (const ParameterPiece& p : parameters.owned()) {
    blocks.emplace_back(p.blocks());
    backend.run(stream, LargestMagnitude{parameters.gradient(p, 0), blocks.back()});
  }
  backend.finish(stream);
  double largest = 0;
  for (const std::vector<double>& of_piece : blocks)
    for (double block : of_piece) largest = std::max(largest, block);
  return largest;
}

double norm_of(std::span<const double> model_blocks) {
  double sum = 0;
  for (double block : model_blocks) sum += block;
  return std::sqrt(sum);
}

double clip_factor(double norm, double clip_norm) {
  return clip_norm == 0 ? 1 : std::min(1.0, clip_norm / (norm + 1e-6));
}

}  // namespace penstock
