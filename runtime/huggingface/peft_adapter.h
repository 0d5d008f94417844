#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/peft_config.h"
#include "runtime/huggingface/tensor_stream.h"
#include "runtime/huggingface/weights_folder.h"

namespace penstock::runtime {

/// The adapter of one module of transformers: W + scale · B · A.
struct AdaptedModule {
  std::string a, b;  // names of A [rank, in] and B [out, rank] in the file; empty if it lacks one
  std::int64_t rank = 0;
  double scale = 1;
};

/// Names of penstock's linear layers.
using LinearLayers = std::set<std::string, std::less<>>;

/// A folder with a LoRA adapter, as save_pretrained() of PEFT writes it.
class PeftAdapter {
 public:
  /// Throws CheckpointError like read_peft_config(), or if the file of tensors is missing, damaged
  /// or pickled, or has tensors that are neither factors nor whole weights.
  explicit PeftAdapter(const std::filesystem::path& folder);

  const PeftConfig& config() const { return config_; }
  /// The adapted modules by their names in the base.
  const std::map<std::string, AdaptedModule, std::less<>>& modules() const { return modules_; }
  /// Whole tensors (modules_to_save): the names in the file, by the names in the base.
  const std::map<std::string, std::string>& saved() const { return saved_; }
  const std::filesystem::path& file() const { return file_; }

  /// Returns a function that reads the file's tensors. It keeps the file open.
  [[nodiscard]] ReadElements reader() const;

  /// Throws one CheckpointError that lists what does not fit a base of this architecture with these
  /// tensors: another class, modules without a counterpart among `layers`, factors that are missing
  /// or of another rank or shape, and whole tensors that the base has not.
  void check_base(const Architecture& architecture, const Pairing& pairing,
                  const LinearLayers& layers) const;

 private:
  PeftConfig config_;
  std::filesystem::path file_;
  std::shared_ptr<const WeightsFolder> tensors_;
  std::map<std::string, AdaptedModule, std::less<>> modules_;
  std::map<std::string, std::string> saved_;
};

/// Returns the name of the module that has a tensor, and of penstock's layer: the name without its
/// last part, such as ".weight".
[[nodiscard]] std::string owner_of(std::string_view tensor);

/// Returns penstock's linear layers of a model that can have an adapter.
[[nodiscard]] LinearLayers linear_layers(const configs::ModelConfig& model, int labels);

/// Returns all layers of penstock with a matrix as weight: an adapter can be added to each.
[[nodiscard]] LinearLayers layers_with_matrix(const Pairing& pairing);

}  // namespace penstock::runtime
