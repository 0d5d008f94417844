#include "tests/emulated_cuda/emulation/cublaslt/product.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <vector>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/tf32.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda::cublaslt {
namespace {

float number(const void* data, cudaDataType_t type, std::int64_t place) {
  switch (type) {
    case CUDA_R_16F:
      return __half2float(static_cast<const __half*>(data)[place]);
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[place]);
    default:
      return static_cast<const float*>(data)[place];
  }
}

void assign(void* data, cudaDataType_t type, std::int64_t place, float value) {
  switch (type) {
    case CUDA_R_16F:
      static_cast<__half*>(data)[place] = __float2half_rn(value);
      return;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(data)[place] = __float2bfloat16_rn(value);
      return;
    default:
      static_cast<float*>(data)[place] = value;
  }
}

float rounded(float value, cudaDataType_t type) {
  float stored = 0;
  assign(&stored, type, 0, value);
  return number(&stored, type, 0);
}

/// How a matrix enters the product.
struct Entry {
  bool transpose, in_tf32;
  float seen(float stored) const { return in_tf32 ? rounded_to_tf32(stored) : stored; }
};

/// A matrix of a batch in FP32, by columns without gaps, as it enters the product.
struct Operand {
  Operand(const Layout& layout, const void* data, int of_batch, const Entry& entry)
      : rows(static_cast<std::int64_t>(entry.transpose ? layout.columns : layout.rows)) {
    const auto stored_rows = static_cast<std::int64_t>(layout.rows);
    const auto stored_columns = static_cast<std::int64_t>(layout.columns);
    numbers.resize(layout.rows * layout.columns);
    for (std::int64_t column = 0; column < stored_columns; ++column) {
      const std::int64_t begin = of_batch * layout.stride + column * layout.lead;
      watch().operation_reads(static_cast<const std::byte*>(data) +
                                  static_cast<std::size_t>(begin) * size_of(layout.type),
                              layout.rows * size_of(layout.type));
      for (std::int64_t row = 0; row < stored_rows; ++row)
        numbers[static_cast<std::size_t>(entry.transpose ? row * rows + column
                                                         : column * rows + row)] =
            entry.seen(number(data, layout.type, begin + row));
    }
  }
  const float* column(std::int64_t column) const { return numbers.data() + column * rows; }

  std::int64_t rows;
  std::vector<float> numbers;
};

bool transposed(std::int32_t operation) { return operation != CUBLAS_OP_N; }

void multiply(const Product& product, int of_batch) {
  const Layout &c = product.c, &d = product.d;
  const Description& description = product.description;
  const bool in_tf32 = description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const Operand a(product.a, product.a_data, of_batch,
                  {transposed(description.transpose_a), in_tf32});
  const Operand b(product.b, product.b_data, of_batch,
                  {transposed(description.transpose_b), in_tf32});
  const auto rows = static_cast<std::int64_t>(d.rows);
  std::vector<float> sums(d.rows);
  for (std::int64_t column = 0; column < static_cast<std::int64_t>(d.columns); ++column) {
    sums.assign(sums.size(), 0.0f);
    for (std::int64_t k = 0; k < b.rows; ++k) {
      if (product.parts_as_stored && k == b.rows / 2)
        for (float& sum : sums) sum = rounded(sum, d.type);
      const float factor = b.column(column)[k];
      const float* column_of_a = a.column(k);
      for (std::int64_t row = 0; row < rows; ++row)
        sums[static_cast<std::size_t>(row)] += factor * column_of_a[row];
    }
    const std::int64_t from = of_batch * c.stride + column * c.lead;
    const std::int64_t to = of_batch * d.stride + column * d.lead;
    if (product.beta != 0)
      watch().operation_reads(static_cast<const std::byte*>(product.c_data) +
                                  static_cast<std::size_t>(from) * size_of(c.type),
                              c.rows * size_of(c.type));
    watch().operation_writes(
        static_cast<std::byte*>(product.d_data) + static_cast<std::size_t>(to) * size_of(d.type),
        d.rows * size_of(d.type));
    for (std::int64_t row = 0; row < rows; ++row) {
      float value = product.alpha * sums[static_cast<std::size_t>(row)];
      if (product.beta != 0) value += product.beta * number(product.c_data, c.type, from + row);
      if (description.epilogue == CUBLASLT_EPILOGUE_BIAS) {
        if (d.lead % 2 != 0) value = rounded(value, d.type);
        value += number(description.bias, d.type, row);
      }
      assign(product.d_data, d.type, to + row, value);
    }
  }
}

bool well_formed(const Layout& layout, std::int32_t batch) {
  return layout.rows > 0 && layout.columns > 0 && layout.batch == batch &&
         layout.lead >= static_cast<std::int64_t>(layout.rows);
}

/// The types that the library takes with a compute type, of those that penstock has.
bool supported(cublasComputeType_t compute, cudaDataType_t in, cudaDataType_t out) {
  if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) return false;
  if (in == CUDA_R_32F) return out == CUDA_R_32F;
  return compute == CUBLAS_COMPUTE_32F && (in == CUDA_R_16F || in == CUDA_R_16BF) &&
         (out == in || out == CUDA_R_32F);
}

}  // namespace

std::size_t size_of(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

std::size_t extent_of(const Layout& layout) {
  const std::int64_t elements = (layout.batch - 1) * layout.stride +
                                (static_cast<std::int64_t>(layout.columns) - 1) * layout.lead +
                                static_cast<std::int64_t>(layout.rows);
  return static_cast<std::size_t>(elements) * size_of(layout.type);
}

cublasStatus_t check_shapes(const Product& product) {
  const Layout &a = product.a, &b = product.b, &c = product.c, &d = product.d;
  const Description& description = product.description;
  for (const Layout* layout : {&a, &b, &c, &d})
    if (!well_formed(*layout, d.batch)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool turn_a = transposed(description.transpose_a);
  const bool turn_b = transposed(description.transpose_b);
  if ((turn_a ? a.columns : a.rows) != d.rows || (turn_b ? b.rows : b.columns) != d.columns ||
      (turn_a ? a.rows : a.columns) != (turn_b ? b.columns : b.rows) || c.rows != d.rows ||
      c.columns != d.columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (description.scale != CUDA_R_32F || a.type != b.type || c.type != d.type ||
      !supported(description.compute, a.type, d.type))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (description.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
  if (description.epilogue != CUBLASLT_EPILOGUE_BIAS)
    fail("cuBLASLt's epilogue ", description.epilogue, " is not emulated");
  return description.bias_type == -1 || description.bias_type == d.type
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

void compute(const Product& product) {
  const Description& description = product.description;
  if (description.epilogue == CUBLASLT_EPILOGUE_BIAS)
    watch().operation_reads(description.bias, product.d.rows * size_of(product.d.type));
  for (int of_batch = 0; of_batch < product.d.batch; ++of_batch) multiply(product, of_batch);
}

}  // namespace emulated_cuda::cublaslt
