#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/tensor_stream.h"
#include "runtime/huggingface/weights_folder.h"

namespace penstock::runtime {

/// The name under which a folder holds each tensor of a pairing: the current or the former one.
/// Tensors that it lacks and may lack are left out, and so are kept numbers that it lacks.
using StoredNames = std::map<std::string, std::string>;

/// How a folder of a class without a head differs from a pairing: other prefixes, and tensors that
/// it may hold in addition.
struct OtherNames {
  std::string_view prefix = {}, stored_prefix = {};  // pairing's, and folder's
  std::vector<std::string_view> left_out = {};  // prefixes of additional tensors that are allowed
};

/// Looks up every tensor of a pairing. Throws one CheckpointError that names all tensors that the
/// folder lacks, has in addition, or has in another shape or type, and then the settings of
/// assumed_sizes(), `assumed`, whose absence may be the cause.
[[nodiscard]] StoredNames account(const Pairing& pairing, const WeightsFolder& weights,
                                  const std::filesystem::path& folder, const OtherNames& others,
                                  const std::vector<std::string>& assumed);

/// Returns penstock's tensors as streams of a folder's tensors, but for those that the folder lacks
/// and may lack. Row `blank` of the head becomes row 0.
[[nodiscard]] std::vector<StreamedTensor> our_tensors(const Pairing& pairing,
                                                      const ModelTensors& ours,
                                                      const StoredNames& stored,
                                                      std::int64_t blank);

/// Returns a kept number, which a folder names `stored`.
[[nodiscard]] StreamedTensor kept_number(const std::string& kept, const std::string& stored,
                                         const WeightsFolder& weights);

/// Returns a function that reads penstock's tensors from a checkpoint: those of model_tensor(), or
/// without `averages` the trained weights themselves.
[[nodiscard]] ReadElements weights_reader(const Checkpoint& checkpoint, bool averages);

/// Returns their tensors as streams of penstock's, with type `dtype`.
[[nodiscard]] std::vector<StreamedTensor> their_tensors(const Pairing& pairing, std::int64_t blank,
                                                        layers::DType dtype);

}  // namespace penstock::runtime
