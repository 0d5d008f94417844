#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/name_match.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/adapter_stack.h"
#include "runtime/huggingface/export.h"
#include "runtime/huggingface/export_source.h"
#include "runtime/huggingface/module_suffixes.h"
#include "runtime/huggingface/peft_config.h"
#include "runtime/huggingface/weights_writer.h"

// One of penstock's layers may be several modules of transformers, which share its A and have rows
// of its B. A column of B that is 0 adds nothing. Those of a module are left out together with
// their rows of A, so that an adapter that was imported comes back as it was: its stack has zeros
// outside its blocks. An adapter whose B are all 0 was never trained and stays whole.
//
// Besides, a module is stored as a whole (modules_to_save) if one of its parameters was trained, or
// if it has running statistics, which every training step changes, and the checkpoint was trained.

namespace penstock::runtime {
namespace {

/// The adapter of one module of transformers.
struct ExportedModule {
  std::string name;
  const TheirTensor* weight = nullptr;
  const LowRankUpdate* update = nullptr;
  std::vector<std::int64_t> kept;  // columns of penstock's B, and rows of its A
};

std::int64_t rank_of(const ExportedModule& module) {
  return static_cast<std::int64_t>(module.kept.size());
}

/// Prepares an exported adapter: everything is determined before the first file is written.
class AdapterExporter {
 public:
  AdapterExporter(const Checkpoint& checkpoint, const ExportOptions& options)
      : source_(checkpoint),
        options_(options),
        lora_(lora_of(checkpoint)),
        read_(weights_reader(checkpoint, options.averages)) {
    if (source_.updates.empty())
      throw ConfigError(fmt::format(
          "{} has no adapters: train with lora.rank, or leave --adapter out to export the model",
          checkpoint.folder().string()));
    find_modules();
    find_saved();
    rank_ = usual_rank();
  }

  AdapterReport write(const std::filesystem::path& folder) const {
    AdapterReport report{.architecture = std::string(source_.architecture.name),
                         .adapted = static_cast<int>(modules_.size()),
                         .saved = static_cast<int>(saved_.size())};
    for (const ExportedModule& module : modules_)
      report.rank = std::max(report.rank, rank_of(module));
    const std::vector<StreamedTensor> tensors = streams();
    for (const StreamedTensor& tensor : tensors) report.parameters += tensor.handle().size();
    write_durably(folder / kAdapterConfig, to_json_text(config()));
    write_weight_file(folder / kAdapterWeights, tensors, computing_reader(read_, factors()));
    if (!source_.gives_labels_back) source_.write_labels(folder);
    return report;
  }

 private:
  void find_modules() {
    for (const TheirTensor& weight : source_.pairing.tensors) {
      const auto update = source_.updates.find(weight.ours);
      if (update == source_.updates.end()) continue;
      modules_.push_back({owner_of(weight.name), &weight, &update->second, {}});
      modules_.back().kept = columns_with_numbers(modules_.back());
    }
    if (std::ranges::all_of(modules_, [](const auto& module) { return module.kept.empty(); }))
      for (ExportedModule& module : modules_)
        for (std::int64_t k = 0; k < module.update->rank; ++k) module.kept.push_back(k);
    std::erase_if(modules_, [](const ExportedModule& module) { return module.kept.empty(); });
  }

  /// Returns the columns of penstock's B that are not 0 in all rows of a module.
  std::vector<std::int64_t> columns_with_numbers(const ExportedModule& module) const {
    const std::int64_t rank = module.update->rank;
    const std::vector<float> b = rows_of_b(module);
    std::vector<std::int64_t> columns;
    for (std::int64_t k = 0; k < rank; ++k)
      for (auto i = static_cast<std::size_t>(k); i < b.size(); i += static_cast<std::size_t>(rank))
        if (b[i] != 0) {
          columns.push_back(k);
          break;
        }
    return columns;
  }

  /// Returns the rows of penstock's B that a module has, in its order.
  std::vector<float> rows_of_b(const ExportedModule& module) const {
    const std::int64_t rank = module.update->rank;
    std::vector<float> b(static_cast<std::size_t>(module.weight->rows * rank));
    std::size_t place = 0;
    for (const std::int64_t row : our_rows(*module.weight, source_.blank)) {
      read_(module.update->b, row * rank,
            std::span(b).subspan(place, static_cast<std::size_t>(rank)));
      place += static_cast<std::size_t>(rank);
    }
    return b;
  }

  void find_saved() {
    const std::set<std::string> states =
        model_states(source_.config.model, static_cast<int>(source_.rows));
    std::vector<std::string> faults;
    for (const TheirTensor& tensor : source_.pairing.tensors) {
      const bool trained = selects(lora_.train, tensor.ours);
      if (states.contains(tensor.ours) ? !source_.trained() : !trained) continue;
      if (holds_directly(owner_of(tensor.name), tensor.name))
        saved_.insert(owner_of(tensor.name));
      else
        faults.push_back(fmt::format("{} ({})", tensor.ours, tensor.name));
    }
    if (!faults.empty())
      throw ConfigError(fmt::format(
          "lora.train names parameters that belong to no module of their own in {}, so that PEFT "
          "can't save them: {}. Export the merged model, without --adapter",
          source_.architecture.name, fmt::join(faults, ", ")));
    if (source_.imported && !source_.gives_labels_back) require_saved_labels();
  }

  /// Throws ConfigError unless all modules with rows of labels are stored.
  void require_saved_labels() const {
    std::set<std::string> lacking;
    for (const TheirTensor& tensor : source_.pairing.tensors)
      if (tensor.by_label && !saved_.contains(owner_of(tensor.name)))
        lacking.insert(fmt::format("\"{}.*\"", owner_of(tensor.ours)));
    if (!lacking.empty())
      throw ConfigError(
          fmt::format("the labels are not those of the imported model, but its head was not "
                      "trained: add {} to lora.train, or export the merged model, without "
                      "--adapter",
                      fmt::join(lacking, ", ")));
  }

  /// True if a module consists of weight, bias and statistics, one of which is the tensor. Others
  /// hold modules, or parameters beside modules.
  bool holds_directly(const std::string& module, std::string_view tensor) const {
    static constexpr std::string_view kParts[] = {".weight", ".bias", ".running_mean",
                                                  ".running_var"};
    const auto part = [](std::string_view name) {
      return std::ranges::any_of(kParts, [&](auto end) { return name.ends_with(end); });
    };
    const std::string within = module + ".";
    return part(tensor) &&
           std::ranges::all_of(source_.pairing.tensors, [&](const TheirTensor& other) {
             return !other.name.starts_with(within) || owner_of(other.name) == module;
           });
  }

  std::vector<StreamedTensor> streams() const {
    std::vector<StreamedTensor> streams;
    const auto add = [&](const std::string& name, layers::Shape shape) {
      StreamedTensor& tensor = streams.emplace_back();
      tensor.name = name;
      tensor.dtype = options_.dtype;
      tensor.columns = shape[1];
      tensor.runs = {{name, 0, shape[0]}};
      tensor.shape = std::move(shape);
    };
    for (const ExportedModule& module : modules_) {
      // Further axes, of size 1, are those of a convolution's kernel.
      layers::Shape a = module.weight->shape, b = module.weight->shape;
      a[0] = b[1] = rank_of(module);
      add(stored_name(lora_a(module.name)), a);
      add(stored_name(lora_b(module.name)), b);
    }
    for (StreamedTensor& tensor : source_.tensors(options_.dtype)) {
      if (!saved_.contains(owner_of(tensor.name))) continue;
      tensor.name = stored_name(tensor.name);
      streams.push_back(std::move(tensor));
    }
    return streams;
  }

  ComputedTensors factors() const {
    ComputedTensors factors;
    for (const ExportedModule& module : modules_) {
      factors.emplace(stored_name(lora_a(module.name)), [this, &module] { return a_of(module); });
      factors.emplace(stored_name(lora_b(module.name)), [this, &module] { return b_of(module); });
    }
    return factors;
  }

  /// Returns the kept rows of A, with the columns in the module's order.
  std::vector<float> a_of(const ExportedModule& module) const {
    const std::int64_t in = module.update->in;
    const std::vector<std::int64_t>& order = module.weight->columns;
    std::vector<float> a, row(static_cast<std::size_t>(in));
    for (const std::int64_t k : module.kept) {
      read_(module.update->a, k * in, row);
      for (std::size_t j = 0; j < row.size(); ++j)
        a.push_back(row[order.empty() ? j : static_cast<std::size_t>(order[j])]);
    }
    return a;
  }

  /// Returns the kept columns of the module's rows of B.
  std::vector<float> b_of(const ExportedModule& module) const {
    const std::vector<float> rows = rows_of_b(module);
    std::vector<float> b;
    for (std::size_t row = 0; row < rows.size();
         row += static_cast<std::size_t>(module.update->rank))
      for (const std::int64_t k : module.kept) b.push_back(rows[row + static_cast<std::size_t>(k)]);
    return b;
  }

  /// Returns the rank of most modules, the largest among equals. The others are listed one by one.
  std::int64_t usual_rank() const {
    std::map<std::int64_t, int> modules;
    for (const ExportedModule& module : modules_) ++modules[rank_of(module)];
    std::int64_t usual = 0;
    for (const auto& [rank, count] : modules)
      if (usual == 0 || count >= modules.at(usual)) usual = rank;
    return usual;
  }

  /// Returns the alpha that keeps the scale for another rank. It is exact for whole numbers.
  double alpha_of(std::int64_t rank) const {
    return lora_.alpha * static_cast<double>(rank) / lora_.rank;
  }

  PeftConfig config() const {
    PeftConfig config{.rank = rank_,
                      .alpha = alpha_of(rank_),
                      .dropout = lora_.dropout,
                      .saved = {saved_.begin(), saved_.end()},
                      .base_class = std::string(source_.architecture.name),
                      .base_library = std::string(source_.architecture.library),
                      .base = options_.base};
    std::set<std::string> adapted;
    for (const ExportedModule& module : modules_) {
      adapted.insert(module.name);
      if (rank_of(module) == rank_) continue;
      config.ranks.emplace_back(module.name, rank_of(module));
      config.alphas.emplace_back(module.name, alpha_of(rank_of(module)));
    }
    std::vector<std::string> all;
    for (const TheirTensor& tensor : source_.pairing.tensors) all.push_back(owner_of(tensor.name));
    config.targets = module_suffixes(adapted, all);
    const auto name = source_.settings.find("_name_or_path");
    if (config.base.empty() && name != source_.settings.end())
      config.base = plain_text(name->second);
    return config;
  }

  static std::string stored_name(const std::string& name) {
    return fmt::format("{}{}", kAdapterPrefix, name);
  }

  ExportSource source_;
  ExportOptions options_;
  configs::LoraConfig lora_;
  ReadElements read_;
  std::vector<ExportedModule> modules_;
  std::int64_t rank_ = 0;        // of most modules
  std::set<std::string> saved_;  // names of modules
};

}  // namespace

AdapterReport export_adapter(const std::filesystem::path& checkpoint,
                             const std::filesystem::path& folder, const ExportOptions& options) {
  const Checkpoint opened = open_checkpoint(checkpoint);
  refuse_within(opened.folder(), folder);
  const AdapterExporter exporter(opened, options);
  NewFolder made(folder);
  AdapterReport report = exporter.write(made.partial());
  made.commit();
  return report;
}

}  // namespace penstock::runtime
