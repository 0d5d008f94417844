#include "runtime/huggingface/weights_folder.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "base/encoded_text.h"
#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/settings.h"

// The folder's files are opened, which reads their headers, and all tensors go into one map by
// name. A folder in several files has an index besides. A tensor must lie in the file that the
// index names, and in no other: else the result would depend on which file is read first. File
// names of the index must lie in the folder itself, so that none leads out of it.

namespace penstock::runtime {
namespace {

constexpr std::string_view kWeightMap = "weight_map.";

/// The files that an index names, each once, and the file of each tensor.
struct Index {
  std::set<std::string> files;
  std::map<std::string, std::string> file_of;
};

Index read_index(const std::filesystem::path& path) {
  Index index;
  for (const auto& [key, value] : read_settings(path)) {
    if (!key.starts_with(kWeightMap)) continue;
    const std::string file = plain_text(value);
    if (file.empty() || std::filesystem::path(file).filename() != file)
      throw_fault(path, fmt::format("names the file {}, which is none of its folder", value));
    index.files.insert(file);
    index.file_of.emplace(key.substr(kWeightMap.size()), file);
  }
  if (index.files.empty()) throw_fault(path, "has no weight_map that names files");
  return index;
}

/// The bytes may be misaligned, so each number is copied.
template <class Number>
void widen(std::span<const std::byte> bytes, float* out) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Number); ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    if constexpr (std::is_same_v<Number, float>) {
      out[i] = number;
    } else {
      out[i] = layers::to_float(number);
    }
  }
}

void widen(layers::DType dtype, std::span<const std::byte> bytes, float* out) {
  if (dtype == layers::DType::f32) widen<float>(bytes, out);
  if (dtype == layers::DType::f16) widen<layers::Half>(bytes, out);
  if (dtype == layers::DType::bf16) widen<layers::BFloat16>(bytes, out);
}

/// Returns the class of a folder's model, as its config.json names it.
std::string model_class(const std::filesystem::path& folder) {
  const Settings settings = read_settings(folder / kModelConfig);
  const auto named = settings.find("architectures");
  if (named == settings.end()) return "AutoModelForCTC";
  const std::vector<std::string> names = items_of_json_list(named->second);
  return names.empty() ? "AutoModelForCTC" : plain_text(names.front());
}

/// Throws for a folder without safetensors. penstock never reads pickled weights, because that
/// would execute code in them. The error tells the user how to convert them.
[[noreturn]] void throw_no_weights(const std::filesystem::path& folder) {
  for (const char* pickled : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (is_there(folder / pickled))
      throw_fault(
          folder,
          fmt::format("holds {}, weights as PyTorch pickles them, which penstock does not read: "
                      "convert them in Python, where transformers is installed:\n  python3 -c "
                      "\"import sys; from transformers import {} as M; "
                      "M.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1])\" {}",
                      pickled, model_class(folder), shell_quoted(folder.string())));
  throw_fault(folder, fmt::format("holds neither {} nor {}: save the model with "
                                  "save_pretrained() of transformers",
                                  kWeightsFile, kWeightsIndex));
}

}  // namespace

// If there are both a single file and an index, the file counts, as in transformers. Each file of
// an index is opened once, whatever the number of its tensors.
WeightsFolder::WeightsFolder(const std::filesystem::path& folder) {
  const auto whole = folder / kWeightsFile, index_file = folder / kWeightsIndex;
  if (is_there(whole)) {
    open(whole);
    return;
  }
  if (!is_there(index_file)) throw_no_weights(folder);
  const Index index = read_index(index_file);
  for (const std::string& file : index.files) open(folder / file);
  for (const auto& [tensor, file] : index.file_of) {
    const auto found = places_.find(tensor);
    if (found == places_.end() || files_[found->second.file].path().filename() != file)
      throw_fault(index_file,
                  fmt::format("says that {} holds '{}', but it does not", file, tensor));
  }
}

void WeightsFolder::open(const std::filesystem::path& file) {
  const SafetensorsFile& opened = files_.emplace_back(file);
  for (const SafetensorsEntry& entry : opened.entries())
    if (!places_.emplace(entry.name, Place{files_.size() - 1, entry}).second)
      throw_fault(file, fmt::format("holds '{}', which an earlier file holds too", entry.name));
}

WeightsFolder WeightsFolder::of_file(const std::filesystem::path& file) {
  WeightsFolder weights;
  weights.open(file);
  return weights;
}

// A language's file (MMS) has adapters and head under the same names as the model's own file. The
// earlier places are forgotten, so their numbers are never read.
void WeightsFolder::replace_by(const std::filesystem::path& file) {
  std::map<std::string, std::string> same;
  const SafetensorsFile opened(file);
  for (const SafetensorsEntry& entry : opened.entries()) same.emplace(entry.name, entry.name);
  replace_by(file, same);
}

void WeightsFolder::replace_by(const std::filesystem::path& file,
                               const std::map<std::string, std::string>& names) {
  const SafetensorsFile& opened = files_.emplace_back(file);
  for (const auto& [name, stored] : names) {
    const auto found = places_.find(name);
    if (found == places_.end())
      throw_fault(file, fmt::format("holds '{}', which the model's weights have not", stored));
    found->second = {files_.size() - 1, opened.entry(stored)};
  }
}

void WeightsFolder::read(const std::string& name, std::int64_t begin, std::span<float> out) const {
  const Place& place = places_.at(name);
  const SafetensorsFile& file = files_[place.file];
  const auto dtype = from_safetensors(place.entry.dtype);
  if (!dtype || (*dtype != layers::DType::f32 && !layers::is_half(*dtype)))
    throw_fault(file.path(), fmt::format("'{}' is of {}", name, place.entry.dtype));
  const std::size_t width = layers::size_of(*dtype);
  const std::uint64_t from = place.entry.begin + static_cast<std::uint64_t>(begin) * width;
  float* to = out.data();
  file.read(from, from + out.size() * width, [&](std::span<const std::byte> part) {
    widen(*dtype, part, to);
    to += part.size() / width;
  });
}

std::vector<std::byte> WeightsFolder::bytes(std::string_view name) const {
  const Place& place = places_.find(name)->second;
  const auto view = files_[place.file].bytes(place.entry);
  return {view.begin(), view.end()};
}

}  // namespace penstock::runtime
