#include "tests/support/runtime/adapter_folder.h"

#include <random>
#include <vector>

#include "runtime/checkpoint/safetensors/safetensors_writer.h"
#include "runtime/huggingface/peft_config.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

void write_adapter(const std::filesystem::path& folder, std::string_view config,
                   const std::map<std::string, layers::Shape>& tensors) {
  std::filesystem::create_directories(folder);
  write_file(folder / runtime::kAdapterConfig, config);
  std::mt19937 random(7);
  std::vector<std::vector<float>> numbers;
  numbers.reserve(tensors.size());
  std::vector<runtime::NamedTensor> named;
  for (const auto& [name, shape] : tensors) {
    auto& own = numbers.emplace_back(static_cast<std::size_t>(layers::element_count(shape)));
    for (float& number : own) number = static_cast<float>(random() % 1000) / 500 - 1;
    named.push_back(
        {std::string(runtime::kAdapterPrefix) + name, {own.data(), layers::DType::f32, shape}});
  }
  runtime::write_safetensors(folder / runtime::kAdapterWeights, named);
}

}  // namespace penstock::test
