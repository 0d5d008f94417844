#include "layers/cuda/products/product.h"

#include "layers/cuda/products/product_plan.h"

namespace penstock::layers::cuda {
namespace {

// Each row count whose bucket's algorithms do not fit has a plan of its own. Without a limit, such
// plans would fill the memory and never be asked for again.
constexpr std::size_t kMaxPlans = 4096;

std::uintptr_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

/// Returns the largest power of two up to 16 that divides `bytes`.
int alignment_of(std::uintptr_t bytes) {
  int alignment = 16;
  while (bytes % static_cast<unsigned>(alignment) != 0) alignment /= 2;
  return alignment;
}

/// Returns the product at the end of the bucket of row counts, whose algorithms serve the whole
/// bucket. If the matrices of a batch lie one after the other, their strides grow with the rows.
Product of_bucket(const Product& product) {
  Product typical = product;
  const std::int64_t rows = product.a.rows, end = bucket_of(rows);
  const auto grow = [&](Matrix& matrix) {
    if (matrix.stride >= rows * matrix.lead) matrix.stride = end * matrix.lead;
    matrix.rows = end;
  };
  grow(typical.a);
  if (product.transpose_a)
    grow(typical.b);
  else
    grow(typical.d);
  return typical;
}

/// Returns true if cuBLASLt's epilogue may add the bias. It may read 16 bytes of the bias at a
/// time, and no option prevents that. In rows with an odd number of f16 or bf16 elements, it may
/// round a sum before it adds the bias (cuBLASLt 13.1).
bool may_add_bias(const Product& product) {
  return alignment_of(address_of(product.bias->data)) == 16 &&
         (product.d.dtype == DType::f32 || product.d.lead % 2 == 0);
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

Products::Products(Fp32Products of_fp32) : of_fp32_(of_fp32), library_(start_cublaslt()) {}

Products::~Products() = default;

ProductPlan& Products::planned(const Product& product) {
  if (plans_.size() >= kMaxPlans) plans_.clear();
  std::unique_ptr<ProductPlan>& plan = plans_[Key(product)];
  if (plan == nullptr) plan = std::make_unique<ProductPlan>(library_.get(), product, of_fp32_);
  return *plan;
}

ProductPlan* Products::plan_for(const Product& product) {
  ProductPlan& of_all = planned(of_bucket(product));
  if (of_all.take(library_.get(), product)) return &of_all;
  if (of_all.empty()) return nullptr;  // then there is none for fewer rows either
  ProductPlan& own = planned(product);
  return own.take(library_.get(), product) ? &own : nullptr;
}

/// Multiplies by cuBLASLt, or else by a kernel of ours. If the epilogue cannot add the bias, the
/// bias is first written into d, and the product is then added to it. So the sum is rounded once.
void Products::run(CudaStream& stream, const Product& product) {
  if (product.d.rows * product.d.columns == 0) return;
  if (product.bias == nullptr || may_add_bias(product))
    if (const ProductPlan* plan = plan_for(product))
      return plan->run(library_.get(), stream, product);
  if (product.bias != nullptr) {
    Product rest = product;
    rest.bias = nullptr;
    rest.accumulate = true;
    if (const ProductPlan* plan = plan_for(rest)) {
      spread_bias(stream, product);
      return plan->run(library_.get(), stream, rest);
    }
  }
  multiply_directly(stream, product);
}

}  // namespace penstock::layers::cuda
