#include "runtime/huggingface/weights_writer.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "runtime/huggingface/folder_files.h"

// Weights of more than `max` bytes are divided into files, as transformers does, with an index
// beside them:
//
//   model-00001-of-00002.safetensors
//   model-00002-of-00002.safetensors
//   model.safetensors.index.json    {"metadata": {"total_size": 9830400}, "weight_map":
//                                    {"lm_head.bias": "model-00002-of-00002.safetensors", …}}
//
// A tensor is never divided. The metadata {"format": "pt"}, which write_part() adds to a file,
// tells transformers that the tensors are PyTorch's.

namespace penstock::runtime {
namespace {

using Part = std::vector<NamedTensor>;

/// Divides tensors into files, in order.
std::vector<Part> parts_of(const std::vector<StreamedTensor>& tensors, std::uint64_t max) {
  std::vector<Part> parts(1);
  std::uint64_t reached = 0;
  for (const StreamedTensor& tensor : tensors) {
    const NamedTensor named{tensor.name, tensor.handle()};
    if (reached > 0 && reached + named.tensor.bytes() > max) {
      parts.emplace_back();
      reached = 0;
    }
    reached += named.tensor.bytes();
    parts.back().push_back(named);
  }
  return parts;
}

void write_part(const std::filesystem::path& file, const Part& part, const ReadElements& read) {
  TensorStream stream(read);
  write_safetensors(
      file, part, {{"format", "pt"}},
      [&](const layers::Tensor& handle, std::size_t begin) { return stream.bytes(handle, begin); });
}

}  // namespace

int write_in_parts(const std::filesystem::path& folder, const std::vector<StreamedTensor>& tensors,
                   std::uint64_t max, const WritePart& write) {
  const std::vector<Part> parts = parts_of(tensors, max);
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name =
        parts.size() == 1 ? "model" : fmt::format("model-{:05}-of-{:05}", i + 1, parts.size());
    write(name, parts[i]);
    for (const NamedTensor& tensor : parts[i]) {
      map[tensor.name] = name + ".safetensors";
      total += tensor.tensor.bytes();
    }
  }
  if (parts.size() > 1) {
    const nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}},
                                          {"weight_map", map}};
    write_durably(folder / kWeightsIndex, index.dump(2) + "\n");
  }
  return static_cast<int>(parts.size());
}

int write_weight_files(const std::filesystem::path& folder,
                       const std::vector<StreamedTensor>& tensors, std::uint64_t max,
                       const ReadElements& read) {
  return write_in_parts(folder, tensors, max, [&](const std::string& name, const Part& part) {
    write_part(folder / (name + ".safetensors"), part, read);
  });
}

void write_weight_file(const std::filesystem::path& file,
                       const std::vector<StreamedTensor>& tensors, const ReadElements& read) {
  for (const Part& whole : parts_of(tensors, std::numeric_limits<std::uint64_t>::max()))
    write_part(file, whole, read);
}

}  // namespace penstock::runtime
