#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/safetensors.h"

namespace penstock::runtime {

/// The tensors of a folder of transformers': of model.safetensors, or of the files that
/// model.safetensors.index.json names.
class WeightsFolder {
 public:
  struct Place {
    std::size_t file = 0;
    SafetensorsEntry entry;
  };

  /// CheckpointError names what is missing, damaged, or held twice.
  explicit WeightsFolder(const std::filesystem::path& folder);

  /// Reads the tensors of a file in place of those of the same names. CheckpointError for a tensor
  /// that the folder has not.
  void replace_by(const std::filesystem::path& file);

  const std::map<std::string, Place, std::less<>>& places() const { return places_; }

  /// Elements of a tensor of F32, F16 or BF16, from `begin` on. CheckpointError for other types.
  void read(const std::string& name, std::int64_t begin, std::span<float> out) const;
  /// A whole tensor as it stands in the file.
  [[nodiscard]] std::vector<std::byte> bytes(std::string_view name) const;

 private:
  void open(const std::filesystem::path& file);

  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace penstock::runtime
