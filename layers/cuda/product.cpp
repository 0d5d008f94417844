#include "layers/cuda/product.h"

#include <string>

#include "base/error.h"
#include "layers/cuda/product_plan.h"

namespace penstock::layers::cuda {
namespace {

// Micro-batches of ever new lengths would fill the memory with plans that nobody asks for again.
constexpr std::size_t kMostPlans = 4096;

std::uintptr_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

/// The largest power of two up to 16 that divides `bytes`.
int alignment_of(std::uintptr_t bytes) {
  int alignment = 16;
  while (bytes % static_cast<unsigned>(alignment) != 0) alignment /= 2;
  return alignment;
}

}  // namespace

Matrix::Matrix(const Tensor& tensor)
    : Matrix(tensor, 0, tensor.shape.at(0), tensor.shape.at(1), tensor.shape.at(1)) {}

Matrix::Matrix(const Tensor& tensor, std::int64_t first, std::int64_t rows, std::int64_t columns,
               std::int64_t lead)
    : MatrixShape{tensor.dtype, rows, columns, lead},
      data(static_cast<std::byte*>(tensor.data) +
           static_cast<std::size_t>(first) * size_of(tensor.dtype)) {
  alignment = alignment_of(address_of(data));
}

Matrix Matrix::each(std::int64_t elements) const {
  Matrix first = *this;
  first.stride = elements;
  const auto bytes = static_cast<std::uintptr_t>(elements) * size_of(dtype);
  first.alignment = alignment_of(address_of(data) | bytes);
  return first;
}

Products::Key::Key(const Product& product)
    : a(product.a),
      b(product.b),
      d(product.d),
      transpose_a(product.transpose_a),
      transpose_b(product.transpose_b),
      bias(product.bias != nullptr),
      batch(product.batch) {}

Products::Products() {
  cublasLtHandle_t handle = nullptr;
  if (const cublasStatus_t status = cublasLtCreate(&handle); status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string("starting cuBLASLt: ") + cublasLtGetStatusName(status));
  library_.reset(handle);
}

Products::~Products() = default;

void Products::run(CudaStream& stream, const Product& product) {
  if (product.d.rows * product.d.columns == 0) return;
  if (plans_.size() >= kMostPlans) plans_.clear();
  std::unique_ptr<ProductPlan>& plan = plans_[Key(product)];
  if (plan == nullptr) plan = std::make_unique<ProductPlan>(library_.get(), product);
  plan->run(library_.get(), stream, product);
}

}  // namespace penstock::layers::cuda
