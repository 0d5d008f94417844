// cuBLASLt: the library's handle, the choice of an algorithm, and the product.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "tests/emulated_cuda/emulation/cublaslt/product.h"
#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/watch.h"

using namespace emulated_cuda;
using namespace emulated_cuda::cublaslt;

struct cublasLtContext {
  int device;
};

namespace {

/// Says what becomes of a caller that takes an algorithm; the heuristic names them in this order.
enum Kind : std::uint32_t {
  kIsNone,  // its state is not success
  kExact,   // holds for the sizes that it was chosen for
  kRagged,  // holds for others too; but not for an odd inner size where that was even
};
constexpr std::uint32_t kKinds = kRagged + 1;

/// Stores the product that an algorithm was chosen for, and what it promises, in place of NVIDIA's
/// data in cublasLtMatmulAlgo_t.
struct Choice {
  std::uint32_t transposes, types, compute, epilogue, batch;
  std::uint32_t rows, columns, inner;
  std::uint32_t kind, workspace_bytes;
  std::uint32_t alignment[4];
  std::uint32_t parts_as_stored;
};
static_assert(sizeof(Choice) <= sizeof(cublasLtMatmulAlgo_t));

/// More than nothing, so that who keeps numbers in the workspace loses them.
constexpr std::uint64_t kWorkspace = std::uint64_t{1} << 20;

/// Epilogues read 16 bytes at a time.
constexpr std::uint32_t kEpilogueAlignment = 16;

Choice choice_for(const Product& product) {
  Choice choice{};
  choice.rows = static_cast<std::uint32_t>(product.d.rows);
  choice.columns = static_cast<std::uint32_t>(product.d.columns);
  choice.inner = static_cast<std::uint32_t>(
      product.description.transpose_a == CUBLAS_OP_N ? product.a.columns : product.a.rows);
  choice.batch = static_cast<std::uint32_t>(product.d.batch);
  choice.transposes = static_cast<std::uint32_t>(product.description.transpose_a * 4 +
                                                 product.description.transpose_b);
  choice.types = static_cast<std::uint32_t>(product.a.type * 256 + product.d.type);
  choice.compute = product.description.compute;
  choice.epilogue = product.description.epilogue;
  return choice;
}

Choice choice_in(const cublasLtMatmulAlgo_t& algorithm) {
  Choice choice;
  std::memcpy(&choice, &algorithm, sizeof choice);
  return choice;
}

/// Whether an algorithm may compute a product.
bool holds(const Choice& choice, const Product& product) {
  const Choice wanted = choice_for(product);
  if (std::memcmp(&choice, &wanted, offsetof(Choice, rows)) != 0) return false;
  if (choice.kind == kRagged) return choice.inner % 2 != 0 || wanted.inner % 2 == 0;
  return choice.kind == kExact && choice.rows == wanted.rows && choice.columns == wanted.columns &&
         choice.inner == wanted.inner;
}

bool aligned(const void* data, std::uint32_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

/// Whether operands begin, and go on from column to column, where halves can be read in pairs.
bool in_pairs(const Layout& layout, std::uint32_t alignment) {
  return size_of(layout.type) == 4 || (layout.lead % 2 == 0 && alignment >= 4);
}

/// Whether the library can add the bias as it stores the product. It must know that there is one.
bool has_epilogue(const Product& product, const Preference& limits) {
  return product.description.bias != nullptr && limits.alignment[3] >= kEpilogueAlignment;
}

/// The choice that stands in the algorithm. It must be for this product, and for where it lies.
Choice expect_choice(const cublasLtMatmulAlgo_t& algorithm, const Product& product) {
  const Choice choice = choice_in(algorithm);
  if (choice.kind == kIsNone) fail("the heuristic said that there is no such algorithm");
  if (!holds(choice, product)) fail("the algorithm was chosen for another product than this");
  const void* const places[] = {product.a_data, product.b_data, product.c_data, product.d_data};
  for (int i = 0; i < 4; ++i)
    if (!aligned(places[i], choice.alignment[i]))
      fail("matrix ", "ABCD"[i], " at ", places[i], " is not on a boundary of ",
           choice.alignment[i], " bytes, for which the algorithm was chosen");
  if (choice.epilogue == CUBLASLT_EPILOGUE_BIAS &&
      !aligned(product.description.bias, kEpilogueAlignment))
    fail("the bias at ", product.description.bias, " is not on a boundary of ", kEpilogueAlignment,
         " bytes");
  return choice;
}

void expect_on_device(int device, const Product& product) {
  Memory& memory = machine().memory;
  memory.expect_device(device, product.a_data, extent_of(product.a), "matrix A");
  memory.expect_device(device, product.b_data, extent_of(product.b), "matrix B");
  memory.expect_device(device, product.c_data, extent_of(product.c), "matrix C");
  memory.expect_device(device, product.d_data, extent_of(product.d), "matrix D");
  if (product.description.epilogue == CUBLASLT_EPILOGUE_BIAS)
    memory.expect_device(device, product.description.bias, product.d.rows * size_of(product.d.type),
                         "the bias");
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext{Call("cublasLtCreate").host().device};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "an error that emulated cuBLASLt does not return";
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  const Call call("cublasLtMatmulAlgoGetHeuristic");
  ++machine().choices;
  const Product product{of(a), of(b), of(c), of(d), of(description)};
  const Preference& limits = of(preference);
  *found = 0;
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t status = check_shapes(product); status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (limits.workspace_bytes < kWorkspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  Choice choice = choice_for(product);
  choice.workspace_bytes = kWorkspace;
  choice.parts_as_stored = limits.reductions & (CUBLASLT_REDUCTION_SCHEME_INPLACE |
                                                CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
  const std::size_t sizes[] = {size_of(of(a).type), size_of(of(b).type), size_of(of(c).type),
                               size_of(of(d).type)};
  for (int i = 0; i < 4; ++i) {
    choice.alignment[i] = limits.alignment[i];
    if (choice.alignment[i] < sizes[i]) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!in_pairs(of(a), limits.alignment[0]) || !in_pairs(of(b), limits.alignment[1]))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (choice.epilogue == CUBLASLT_EPILOGUE_BIAS && !has_epilogue(product, limits))
    return CUBLAS_STATUS_SUCCESS;  // and nothing found
  for (; *found < std::min<int>(wanted, kKinds); ++*found) {
    cublasLtMatmulHeuristicResult_t& result = results[*found];
    choice.kind = static_cast<std::uint32_t>(*found);
    result = {};
    std::memcpy(&result.algo, &choice, sizeof choice);
    result.workspaceSize = choice.workspace_bytes;
    if (choice.kind == kIsNone) result.state = CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const Product product{of(a), of(b), of(c), of(d), of(description)};
  if (const cublasStatus_t status = check_shapes(product); status != CUBLAS_STATUS_SUCCESS)
    return status;
  const Choice choice = choice_in(*algorithm);
  if (!holds(choice, product)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {};
  result->algo = *algorithm;
  result->workspaceSize = choice.workspace_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a_data, cublasLtMatrixLayout_t a,
                              const void* b_data, cublasLtMatrixLayout_t b, const void* beta,
                              const void* c_data, cublasLtMatrixLayout_t c, void* d_data,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, std::size_t workspace_bytes,
                              cudaStream_t stream_handle) {
  const Call call("cublasLtMatmul");
  CUstream_st& stream = call.stream(stream_handle);
  Product product{of(a),
                  of(b),
                  of(c),
                  of(d),
                  of(description),
                  *static_cast<const float*>(alpha),
                  *static_cast<const float*>(beta),
                  a_data,
                  b_data,
                  c_data,
                  d_data};
  if (const cublasStatus_t status = check_shapes(product); status != CUBLAS_STATUS_SUCCESS)
    return status;
  if (handle->device != stream.device)
    fail("the library's handle is of device ", handle->device, ", the stream of device ",
         stream.device);
  const Choice choice = expect_choice(*algorithm, product);
  product.parts_as_stored = choice.parts_as_stored != 0;
  if (workspace_bytes < choice.workspace_bytes) return CUBLAS_STATUS_INVALID_VALUE;
  if (!aligned(workspace, 16)) return CUBLAS_STATUS_INVALID_VALUE;
  expect_on_device(stream.device, product);
  machine().memory.expect_device(stream.device, workspace, workspace_bytes, "the workspace");
  ++machine().computed;
  call.queue(stream, [product, workspace, bytes = choice.workspace_bytes] {
    watch().operation_writes(workspace, bytes);
    std::memset(workspace, 0xff, bytes);
    compute(product);
  });
  return CUBLAS_STATUS_SUCCESS;
}
