#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/huggingface/account.h"
#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// penstock's tensors, made of those of a folder; `blank` is the head's row that becomes row 0.
[[nodiscard]] std::vector<StreamedTensor> our_tensors(const Pairing& pairing,
                                                      const ModelTensors& ours,
                                                      const StoredNames& stored,
                                                      std::int64_t blank);

/// Theirs, made of penstock's, in the type `dtype`.
[[nodiscard]] std::vector<StreamedTensor> their_tensors(const Pairing& pairing, std::int64_t blank,
                                                        layers::DType dtype);

}  // namespace penstock::runtime
