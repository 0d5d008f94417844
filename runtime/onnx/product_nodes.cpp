#include <algorithm>
#include <cmath>

#include "runtime/onnx/layer_graph.h"

// A product is one operator, or with weights of 8 bits four. Such a weight has a scale for each
// output, s_o = max |w_o| / 127, and is stored as round(w / s_o) + 128: unsigned, since ONNX
// Runtime's products of signed bytes overflow on older processors. The input is rounded to 8 bits
// at run time, with one scale for all of it. The product of both is exact in integers, and becomes
// real numbers by both scales. ONNX Runtime merges the four operators into one.

namespace penstock::runtime {
namespace {

constexpr float kLevels = 127;
constexpr std::uint8_t kZero = 128;

/// Returns the scale of each output of a weight [out, in].
std::vector<float> output_scales(const std::vector<float>& weight, std::size_t in) {
  std::vector<float> scales;
  for (std::size_t first = 0; first < weight.size(); first += in) {
    float largest = 0;
    for (std::size_t i = first; i < first + in; ++i)
      largest = std::max(largest, std::abs(weight[i]));
    scales.push_back(largest > 0 ? largest / kLevels : 1);
  }
  return scales;
}

/// Returns the bytes of a weight [out, in] as [in, out].
std::vector<std::byte> quantised(const std::vector<float>& weight, std::size_t in) {
  const std::vector<float> scales = output_scales(weight, in);
  const std::size_t out = scales.size();
  std::vector<std::byte> bytes(weight.size());
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t i = 0; i < in; ++i) {
      const long level = std::lround(weight[o * in + i] / scales[o]) + kZero;
      bytes[i * out + o] = static_cast<std::byte>(level);
    }
  return bytes;
}

ValueName add_eight_bit_product(LayerGraph& target, const ValueName& x, const Product& product) {
  OnnxGraph& graph = target.graph;
  const auto in = static_cast<std::size_t>(product.in);
  const auto constant = [&](const char* kind, layers::DType dtype, const layers::Shape& shape,
                            auto make) {
    return graph.constant({product.weight + kind, dtype, shape,
                           [&weights = target.weights, name = product.weight, make] {
                             return make(weights.read(name));
                           }});
  };
  const ValueName weight =
      constant(".quantised", layers::DType::u8, {product.in, product.out},
               [in](const std::vector<float>& numbers) { return quantised(numbers, in); });
  const ValueName scales = constant(".scale", layers::DType::f32, {product.out},
                                    [in](const std::vector<float>& numbers) {
                                      return copy_bytes<float>(output_scales(numbers, in));
                                    });
  const std::vector<ValueName> input = graph.nodes("DynamicQuantizeLinear", {x}, {}, 3);
  const ValueName sums =
      graph.node("MatMulInteger", {input[0], weight, input[2], graph.byte(kZero)});
  const ValueName y = graph.node(
      "Mul", {cast(graph, sums, layers::DType::f32), graph.node("Mul", {input[1], scales})});
  return product.bias.empty() ? y : graph.node("Add", {y, product.bias});
}

}  // namespace

// A weight is [out, in], as penstock stores it, and Gemm multiplies by its transpose.
ValueName add_product(LayerGraph& target, const ValueName& x, const Product& product) {
  if (target.eight_bits) return add_eight_bit_product(target, x, product);
  std::vector<ValueName> inputs = {x, add_parameter(target, product.weight)};
  if (!product.bias.empty()) inputs.push_back(product.bias);
  return target.graph.node("Gemm", inputs, {{"transB", std::int64_t{1}}});
}

}  // namespace penstock::runtime
