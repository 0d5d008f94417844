#include <fmt/format.h>

#include "layers/cuda/convolution/convolution_list.h"
#include "layers/cuda/convolution/convolution_sizes.h"
#include "layers/cuda/core/libraries.h"
#include "tools/gpu/facts/facts.h"

// Nothing is computed here: cuDNN says by heuristics which algorithms it would take for a shape, in
// order of expected speed, so no image needs memory. The rows show what the backend chooses from
// (layers/cuda/convolution/), and which entries it passes over because they are not deterministic.

namespace penstock::tools {
namespace {

using layers::DType;
namespace cuda = layers::cuda;

constexpr const char* kColumns = "{:<12} {:<5} {:<23} {:>5} {:>9} {:<16} {:<17} {:>14} {:<38} {}";

std::string_view name_of(cudnnMathType_t math) {
  switch (math) {
    case CUDNN_DEFAULT_MATH:
      return "DEFAULT";
    case CUDNN_TENSOR_OP_MATH:
      return "TENSOR_OP";
    case CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION:
      return "ALLOW_CONVERSION";
    case CUDNN_FMA_MATH:
      return "FMA";
  }
  return "unknown";
}

std::string_view name_of(cudnnDeterminism_t determinism) {
  return determinism == CUDNN_DETERMINISTIC ? "DETERMINISTIC" : "NON_DETERMINISTIC";
}

/// Lists a pass. The workspace is what cuDNN returns when the descriptor has the algorithm's math
/// type.
template <class Pass>
void tell_pass(cudnnHandle_t library, const std::string& name, const cuda::Convolution& convolution,
               const Say& say) {
  const cuda::ConvolutionDescription of(convolution);
  const auto listed = cuda::algorithms_for<Pass>(
      library, convolution, of,
      cuda::permitted_math(convolution.dtype, layers::Fp32Products::tf32));
  const std::string_view format = layers::name_of(convolution.dtype);
  if (listed.empty())
    say(fmt::format("{:<12} {:<5} {:<23} no algorithm", name, format, Pass::kName));
  for (std::size_t place = 0; place < listed.size(); ++place) {
    const auto& entry = listed[place];
    std::size_t bytes = 0;
    // The size depends on the math type, which the descriptor must have when it is asked.
    of.use(entry.mathType);
    const cudnnStatus_t asked = Pass::bytes(library, of, entry.algo, &bytes);
    say(fmt::format(kColumns, name, format, Pass::kName, place, static_cast<int>(entry.algo),
                    name_of(entry.mathType), name_of(entry.determinism),
                    asked == CUDNN_STATUS_SUCCESS ? fmt::format("{}", bytes) : "-",
                    cudnnGetErrorString(entry.status), cudnnGetErrorString(asked)));
  }
}

}  // namespace

void tell_convolutions(const std::vector<ConvolutionCase>& cases, const Say& say) {
  const cuda::Cudnn library = cuda::start_cudnn();
  say(fmt::format(kColumns, "# of", "in", "pass", "place", "algorithm", "math type", "determinism",
                  "workspace", "status in the list", "status of the workspace"));
  for (const ConvolutionCase& of : cases) {
    layers::Conv2dGeometry geometry = of.geometry;
    geometry.lengths = of.lengths;
    const cuda::Conv2dImage image(geometry);
    // Addresses are not needed to list algorithms, and stay null.
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const cuda::Convolution convolution{.geometry = geometry,
                                          .dtype = dtype,
                                          .in_rows = image.in_rows,
                                          .out_rows = image.out_rows,
                                          .in = nullptr,
                                          .out = nullptr,
                                          .filter = nullptr,
                                          .workspace = {}};
      tell_pass<cuda::ForwardPass>(library.get(), of.name, convolution, say);
      tell_pass<cuda::BackwardInputPass>(library.get(), of.name, convolution, say);
      tell_pass<cuda::BackwardFilterPass>(library.get(), of.name, convolution, say);
    }
  }
}

}  // namespace penstock::tools
