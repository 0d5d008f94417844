#include <fmt/format.h>

#include "layers/cuda/core/libraries.h"
#include "layers/cuda/products/product_plan.h"
#include "tools/gpu/facts/device_tensors.h"
#include "tools/gpu/facts/facts.h"
#include "tools/gpu/facts/stopwatch.h"

// cuBLASLt lists algorithms for each shape, the one that it expects to be fastest first, and each
// is timed. If a later one is clearly faster, cuBLASLt's heuristics do not suit the shape. A layer
// multiplies all frames of a micro-batch at once, so the rows are those of all utterances together.

namespace penstock::tools {
namespace {

namespace cuda = layers::cuda;

constexpr int kCalls = 5;
constexpr const char* kColumns =
    "{:<28} {:<5} {:>10} {:>6} {:>6} {:>8} {:>5} {:>12} {:>7} {:>9} {}";

/// Operands of a case for a number of utterances, filled with noise.
struct Operands {
  Operands(DeviceTensors& memory, const ProductCase& of, std::int64_t utterances)
      : x(memory.noise(of.dtype, {of.batch * utterances * of.rows_of_utterance, of.inner})),
        w(memory.noise(of.dtype, {of.batch * of.columns, of.inner})),
        y(memory.zeros(of.result, {of.batch * utterances * of.rows_of_utterance, of.columns})),
        bias(memory.noise(of.result, {of.columns})),
        rows(utterances * of.rows_of_utterance) {}

  /// Returns y = x · wᵀ for each of the batch's matrices, which lie one after another.
  cuda::Product product(const ProductCase& of) const {
    return {.a = cuda::Matrix(x, 0, rows, of.inner, of.inner).each(rows * of.inner),
            .b = cuda::Matrix(w, 0, of.columns, of.inner, of.inner).each(of.columns * of.inner),
            .d = cuda::Matrix(y, 0, rows, of.columns, of.columns).each(rows * of.columns),
            .transpose_b = true,
            .bias = of.bias ? &bias : nullptr,
            .batch = of.batch};
  }

  layers::Tensor x, w, y, bias;
  std::int64_t rows;
};

/// Returns the microseconds of a product by that algorithm, or "-" if it can't run.
std::string time_by(const cublasLtMatmulHeuristicResult_t& result, const cuda::ProductPlan& plan,
                    cublasLtHandle_t library, layers::CudaStream& stream,
                    const cuda::Product& product) {
  if (result.state != CUBLAS_STATUS_SUCCESS) return "-";
  const Times times = time_of(stream, [&] {
    for (int call = 0; call < kCalls; ++call) plan.run_by(result.algo, library, stream, product);
  });
  return fmt::format("{:.2f}", times.device / kCalls);
}

}  // namespace

void tell_products(layers::Backend& backend, const std::vector<ProductCase>& cases,
                   const std::vector<std::int64_t>& utterances, const Say& say) {
  const cuda::CublasLt library = cuda::start_cublaslt();
  layers::CudaStream stream({});
  say(fmt::format(kColumns, "# of", "in", "utterances", "rows", "inner", "columns", "place",
                  "workspace", "waves", "µs", "state"));
  for (const ProductCase& of : cases)
    for (const std::int64_t count : utterances) {
      // Operands live until the stream has been waited for, at the end of the loop's body.
      DeviceTensors memory(backend, stream);
      const Operands operands(memory, of, count);
      const cuda::Product product = operands.product(of);
      const cuda::ProductPlan plan(library.get(), product, layers::Fp32Products::full);
      const std::string_view format = layers::name_of(of.dtype);
      if (plan.results().empty())
        say(fmt::format("{:<28} {:<5} {:>10} no algorithm", of.name, format, count));
      for (std::size_t place = 0; place < plan.results().size(); ++place) {
        const cublasLtMatmulHeuristicResult_t& result = plan.results()[place];
        say(fmt::format(kColumns, of.name, format, count, operands.rows, of.inner, of.columns,
                        place, result.workspaceSize, fmt::format("{:.2f}", result.wavesCount),
                        time_by(result, plan, library.get(), stream, product),
                        cublasLtGetStatusName(result.state)));
      }
      stream.synchronize();
    }
}

}  // namespace penstock::tools
