#include "runtime/huggingface/peft_adapter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "layers/models/lora.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"
#include "runtime/huggingface/folder_files.h"

// The tensors of an adapter are named after the modules of the base:
//
//   base_model.model.wav2vec2.encoder.layers.0.attention.q_proj.lora_A.weight    [rank, in]
//   base_model.model.wav2vec2.encoder.layers.0.attention.q_proj.lora_B.weight    [out, rank]
//   base_model.model.lm_head.weight, base_model.model.lm_head.bias               modules_to_save
//
// The file's tensors say which modules are adapted, because target_modules may be a regular
// expression. A list of names is compared with them, so that a file that was cut short is found.
// Every tensor must have its use: one that is left out would change transcripts in silence.

namespace penstock::runtime {
namespace {

using layers::kLoraA, layers::kLoraB;

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kAnyFactor = ".lora_";  // of other kinds of adapters too

std::filesystem::path weights_file(const std::filesystem::path& folder) {
  std::filesystem::path file = folder / kAdapterWeights;
  if (is_there(file)) return file;
  if (is_there(folder / "adapter_model.bin"))
    throw_fault(folder, fmt::format("holds adapter_model.bin, an adapter as PyTorch pickles it, "
                                    "which penstock does not read: load it with PEFT, and save it "
                                    "again with save_pretrained(), which writes {}",
                                    kAdapterWeights));
  throw_fault(folder, fmt::format("holds no {}: save the adapter with save_pretrained() of PEFT",
                                  kAdapterWeights));
}

/// True if a module's name is one of a list's, or ends with one after a dot.
bool named(const std::vector<std::string>& names, std::string_view module) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return module == name || module.ends_with(fmt::format(".{}", name));
  });
}

bool computed(const SafetensorsEntry& entry) {
  const auto dtype = from_safetensors(entry.dtype);
  return dtype && (*dtype == layers::DType::f32 || layers::is_half(*dtype));
}

/// Compares an adapter with a base and collects what does not fit.
class BaseCheck {
 public:
  BaseCheck(const PeftAdapter& adapter, const WeightsFolder& tensors, const Pairing& pairing,
            const LinearLayers& layers)
      : adapter_(adapter), tensors_(tensors), layers_(layers) {
    for (const TheirTensor& tensor : pairing.tensors) {
      shapes_.emplace(tensor.name, tensor.shape);
      if (!tensor.former.empty()) shapes_.emplace(tensor.former, tensor.shape);
      if (tensor.name.ends_with(kWeight)) weights_.emplace(owner_of(tensor.name), &tensor);
    }
    kept_.insert(pairing.kept.begin(), pairing.kept.end());
  }

  void module(const std::string& name, const AdaptedModule& adapted) {
    const auto found = weights_.find(name);
    if (found == weights_.end()) {
      fault("it adapts {}, which no such model has", name);
    } else if (!layers_.contains(owner_of(found->second->ours))) {
      fault(
          "it adapts {}, but penstock adapts linear layers alone, such as {}: --merge adds an "
          "adapter of any matrix to the weights",
          name, fmt::join(first_modules(), ", "));
    } else if (adapted.a.empty() || adapted.b.empty()) {
      fault("it lacks {}{}", name, adapted.a.empty() ? kLoraA : kLoraB);
    } else {
      factors(*found->second, adapted);
    }
  }

  void targets() {
    for (const auto& [name, tensor] : weights_)
      if (layers_.contains(owner_of(tensor->ours)) && named(adapter_.config().targets, name) &&
          !adapter_.modules().contains(name) && !adapter_.saved().contains(tensor->name))
        fault("it lacks {}{} and {}, though target_modules names the module", name, kLoraA, kLoraB);
    for (const std::string& module : adapter_.config().saved)
      if (std::ranges::none_of(adapter_.saved(), [&](const auto& tensor) {
            return tensor.first.find(module + ".") != std::string::npos;
          }))
        fault("it lacks the tensors of {}, though modules_to_save names the module", module);
  }

  void saved(const std::string& name, const std::string& stored) {
    if (kept_.contains(name)) return;
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) {
      fault("it has {}, which no such model has", stored);
    } else {
      shape(stored, found->second, ": save the base with layers of the adapter's sizes");
    }
  }

  template <class... Values>
  void fault(fmt::format_string<Values...> text, Values&&... values) {
    faults_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  /// Axes of size 1 that a convolution's weight has after its two, are those of its factors too.
  void factors(const TheirTensor& weight, const AdaptedModule& adapted) {
    layers::Shape a = weight.shape, b = weight.shape;
    a[0] = b[1] = adapted.rank;
    shape(adapted.a, a, fmt::format(", with rank {} of {}", adapted.rank, kAdapterConfig));
    shape(adapted.b, b, fmt::format(", with rank {} of {}", adapted.rank, kAdapterConfig));
  }

  void shape(const std::string& stored, const layers::Shape& wanted, const std::string& why) {
    const SafetensorsEntry& entry = tensors_.places().at(stored).entry;
    const bool same =
        std::ranges::equal(entry.shape, wanted, [](std::uint64_t is, std::int64_t should) {
          return is == static_cast<std::uint64_t>(should);
        });
    if (!same)
      fault("{} is [{}], expected [{}]{}", stored, fmt::join(entry.shape, ", "),
            fmt::join(wanted, ", "), why);
    if (!computed(entry)) fault("{} is of {}, expected F32, F16 or BF16", stored, entry.dtype);
  }

  std::vector<std::string> first_modules() const {
    constexpr std::size_t kShown = 4;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights_)
      if (layers_.contains(owner_of(tensor->ours)) && names.size() < kShown) names.push_back(name);
    return names;
  }

  const PeftAdapter& adapter_;
  const WeightsFolder& tensors_;
  const LinearLayers& layers_;
  std::map<std::string, layers::Shape, std::less<>> shapes_;
  std::map<std::string, const TheirTensor*, std::less<>> weights_;  // by their modules
  std::set<std::string, std::less<>> kept_;
  std::vector<std::string> faults_;
};

}  // namespace

PeftAdapter::PeftAdapter(const std::filesystem::path& folder)
    : config_(read_peft_config(folder / kAdapterConfig)),
      file_(weights_file(folder)),
      tensors_(std::make_shared<const WeightsFolder>(WeightsFolder::of_file(file_))) {
  for (const auto& [stored, place] : tensors_->places()) {
    if (!stored.starts_with(kAdapterPrefix))
      throw_fault(file_, fmt::format("holds '{}', but names of an adapter's tensors begin with {}",
                                     stored, kAdapterPrefix));
    const std::string name = stored.substr(kAdapterPrefix.size());
    if (name.ends_with(kLoraA)) {
      modules_[name.substr(0, name.size() - kLoraA.size())].a = stored;
    } else if (name.ends_with(kLoraB)) {
      modules_[name.substr(0, name.size() - kLoraB.size())].b = stored;
    } else if (name.find(kAnyFactor) == std::string::npos) {
      saved_.emplace(name, stored);
    } else {
      throw_fault(file_, fmt::format("holds '{}', which is no factor of a linear layer's adapter: "
                                     "penstock reads lora_A.weight and lora_B.weight",
                                     stored));
    }
  }
  if (modules_.empty()) throw_fault(file_, "holds no lora_A.weight of any module");
  for (auto& [name, module] : modules_) {
    module.rank = rank_of(config_, name);
    module.scale = scale_of(config_, name);
  }
}

ReadElements PeftAdapter::reader() const {
  return [tensors = tensors_](const std::string& source, std::int64_t begin, std::span<float> out) {
    tensors->read(source, begin, out);
  };
}

void PeftAdapter::check_base(const Architecture& architecture, const Pairing& pairing,
                             const LinearLayers& layers) const {
  BaseCheck check(*this, *tensors_, pairing, layers);
  if (!config_.base_class.empty() && config_.base_class != architecture.name)
    check.fault("its base is a {}, by auto_mapping of {}, but this base is a {}",
                config_.base_class, kAdapterConfig, architecture.name);
  for (const auto& [name, module] : modules_) check.module(name, module);
  for (const auto& [name, stored] : saved_) check.saved(name, stored);
  check.targets();
  if (!check.faults().empty())
    throw_fault(file_, fmt::format("this adapter does not fit the base:\n  {}",
                                   fmt::join(check.faults(), "\n  ")));
}

std::string owner_of(std::string_view tensor) {
  return std::string(tensor.substr(0, tensor.rfind('.')));
}

LinearLayers linear_layers(const configs::ModelConfig& model, int labels) {
  const partition::LayerSequence sequence = partition::build_model(model, labels);
  const std::vector<std::string> names = layers::adaptable_layers(sequence.layers);
  return {names.begin(), names.end()};
}

LinearLayers layers_with_matrix(const Pairing& pairing) {
  LinearLayers layers;
  for (const TheirTensor& tensor : pairing.tensors) {
    const layers::Shape& shape = tensor.shape;
    const bool matrix = tensor.name.ends_with(kWeight) && shape.size() >= 2 &&
                        std::all_of(shape.begin() + 2, shape.end(), [](auto n) { return n == 1; });
    if (matrix) layers.insert(owner_of(tensor.ours));
  }
  return layers;
}

}  // namespace penstock::runtime
