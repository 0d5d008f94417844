#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layers/tensor/tensor.h"

namespace penstock::test {

/// A tensor as a file holds it.
struct FileTensor {
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::vector<std::byte> bytes;
  bool operator==(const FileTensor&) const = default;
};
using FileTensors = std::map<std::string, FileTensor>;

/// The tensors of a safetensors file.
FileTensors tensors_of_file(const std::filesystem::path& file);

/// Writes the file anew with what `change` makes of its tensors.
void change_tensors(const std::filesystem::path& file,
                    const std::function<void(FileTensors&)>& change);

/// Puts `to` for the one `from` of a text file; fails the test if there is none.
void change_text(const std::filesystem::path& file, std::string_view from, std::string_view to);

}  // namespace penstock::test
