#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/safetensors/safetensors.h"

namespace penstock::runtime {

/// The tensors of a folder of transformers, in model.safetensors or in the files that
/// model.safetensors.index.json names.
class WeightsFolder {
 public:
  struct Place {
    std::size_t file = 0;
    SafetensorsEntry entry;
  };

  /// Throws CheckpointError that names what is missing, damaged, or present twice.
  explicit WeightsFolder(const std::filesystem::path& folder);
  /// Returns the tensors of one file.
  static WeightsFolder of_file(const std::filesystem::path& file);

  /// Replaces tensors by those of the same name in another file. Throws CheckpointError for a
  /// tensor that the folder lacks.
  void replace_by(const std::filesystem::path& file);
  /// Replaces the tensors that `names` has as keys by those of another file. Its values are their
  /// names in that file.
  void replace_by(const std::filesystem::path& file,
                  const std::map<std::string, std::string>& names);

  const std::map<std::string, Place, std::less<>>& places() const { return places_; }

  /// Reads elements of a tensor of type F32, F16 or BF16, from `begin` on. Throws CheckpointError
  /// for other types.
  void read(const std::string& name, std::int64_t begin, std::span<float> out) const;
  /// Returns the bytes of a whole tensor, as stored in the file.
  [[nodiscard]] std::vector<std::byte> bytes(std::string_view name) const;

 private:
  WeightsFolder() = default;
  void open(const std::filesystem::path& file);

  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace penstock::runtime
