#include "tests/support/runtime/exchanged_folder.h"

#include <gtest/gtest.h>

#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/checkpoint/safetensors/safetensors_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

FileTensors tensors_of_file(const std::filesystem::path& file) {
  const runtime::SafetensorsFile opened(file);
  FileTensors tensors;
  for (const runtime::SafetensorsEntry& entry : opened.entries()) {
    const layers::Tensor tensor = opened.tensor(entry.name);
    const auto bytes = opened.bytes(entry);
    tensors[entry.name] = {tensor.dtype, tensor.shape, {bytes.begin(), bytes.end()}};
  }
  return tensors;
}

void change_tensors(const std::filesystem::path& file,
                    const std::function<void(FileTensors&)>& change) {
  FileTensors tensors = tensors_of_file(file);
  change(tensors);
  std::vector<runtime::NamedTensor> named;
  for (auto& [name, tensor] : tensors)
    named.push_back({name, {tensor.bytes.data(), tensor.dtype, tensor.shape}});
  runtime::write_safetensors(file, named);
}

void change_text(const std::filesystem::path& file, std::string_view from, std::string_view to) {
  std::string text = read_file(file);
  const std::size_t place = text.find(from);
  ASSERT_NE(place, std::string::npos) << file << " lacks " << from;
  write_file(file, text.replace(place, from.size(), to));
}

}  // namespace penstock::test
