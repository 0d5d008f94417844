#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/huggingface/account.h"
#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// Returns penstock's tensors as streams of a folder's tensors. Row `blank` of the head becomes row
/// 0.
[[nodiscard]] std::vector<StreamedTensor> our_tensors(const Pairing& pairing,
                                                      const ModelTensors& ours,
                                                      const StoredNames& stored,
                                                      std::int64_t blank);

/// Returns their tensors as streams of penstock's, with type `dtype`.
[[nodiscard]] std::vector<StreamedTensor> their_tensors(const Pairing& pairing, std::int64_t blank,
                                                        layers::DType dtype);

}  // namespace penstock::runtime
