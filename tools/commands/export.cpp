#include "runtime/huggingface/export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/onnx/export_onnx.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// `penstock export` writes a new folder from a checkpoint: a model that transformers loads or, with
// --weights, the weights alone as a checkpoint, with --adapter a LoRA adapter for PEFT, or with
// --onnx a model of ONNX. Memory does not grow with the model. The checkpoint stays as it is. The
// folder appears under its name once it is complete, and an existing one is not touched.
//
// Exit code 2: transformers or ONNX has no such model, or the checkpoint no adapters. Exit code 4:
// the checkpoint is damaged, the folder is there already, or a number is not finite or too large
// for the precision.

namespace penstock::tools {
namespace {

struct ExportCommand {
  std::filesystem::path checkpoint, folder;
  std::string precision = "fp32";
  double file_gb = 5;
  bool weights = false, adapter = false, onnx = false, eight_bits = false, without_ema = false;
  double level = 0;  // --rms
  std::string base;
  bool json = false;
};

std::string merged_text(int adapters) {
  return adapters == 0
             ? ""
             : fmt::format("; {} merged", counted(adapters, "adapter is", "adapters are"));
}

void print(const ExportCommand& options, const runtime::ExportReport& report) {
  if (options.json) {
    std::cout << json_line(nlohmann::ordered_json{{"architecture", report.architecture},
                                                  {"parameters", report.parameters},
                                                  {"weight_files", report.files},
                                                  {"merged", report.merged},
                                                  {"folder", options.folder.string()}});
    return;
  }
  std::cout << fmt::format("{} with {} is now {}, its weights in {}{}\n", report.architecture,
                           counted(report.parameters, "number"), options.folder.string(),
                           counted(report.files, "file"), merged_text(report.merged));
}

void print(const ExportCommand& options, const runtime::WeightsReport& report) {
  if (options.json) {
    std::cout << json_line(nlohmann::ordered_json{{"parameters", report.parameters},
                                                  {"weight_files", report.files},
                                                  {"merged", report.merged},
                                                  {"folder", options.folder.string()}});
    return;
  }
  std::cout << fmt::format("{} in {} are now {}, in {}{}\n", counted(report.parameters, "number"),
                           options.precision, options.folder.string(),
                           counted(report.files, "file"), merged_text(report.merged));
}

void print(const ExportCommand& options, const runtime::AdapterReport& report) {
  if (options.json) {
    std::cout << json_line(nlohmann::ordered_json{{"architecture", report.architecture},
                                                  {"parameters", report.parameters},
                                                  {"adapted", report.adapted},
                                                  {"saved", report.saved},
                                                  {"rank", report.rank},
                                                  {"folder", options.folder.string()}});
    return;
  }
  std::cout << fmt::format(
      "an adapter of {} for {} is now {}{}\n", counted(report.parameters, "number"),
      report.architecture, options.folder.string(),
      report.saved == 0 ? ""
                        : fmt::format(", with {} as a whole", counted(report.saved, "module")));
  std::cout << fmt::format("it adapts {} with rank {}\n", counted(report.adapted, "module"),
                           report.rank);
}

void print(const ExportCommand& options, const runtime::OnnxReport& report) {
  const std::string file = (options.folder / report.file).string();
  if (options.json) {
    std::cout << json_line(nlohmann::ordered_json{{"parameters", report.parameters},
                                                  {"labels", report.labels},
                                                  {"sample_rate", report.sample_rate},
                                                  {"files", report.files},
                                                  {"merged", report.merged},
                                                  {"model", file}});
    return;
  }
  std::cout << fmt::format(
      "{} are now {}{}\nit takes samples at {} Hz and returns logits of {}, named in {}\n",
      counted(report.parameters, "number"), file,
      report.files == 2 ? " with its weights in " + report.file + ".data" : "", report.sample_rate,
      counted(report.labels, "label"), (options.folder / "tokens.txt").string());
  if (report.merged > 0) std::cout << merged_text(report.merged).substr(2) << "\n";
  if (report.level_matters)
    std::cout << "note: this model hears how loud a recording is, and sherpa-onnx makes all\n"
                 "equally loud. For it, give --rms and the level of the training's recordings\n";
}

runtime::OnnxReport write_onnx(const ExportCommand& options, std::uint64_t file_bytes) {
  if (options.precision != "fp32")
    throw ConfigError(
        fmt::format("--precision {}: an ONNX model has FP32: leave it out, or take "
                    "--weights",
                    options.precision));
  return runtime::export_onnx(options.checkpoint, options.folder,
                              {.averages = !options.without_ema,
                               .eight_bits = options.eight_bits,
                               .level = options.level,
                               .max_bytes = std::min(file_bytes, runtime::kMaxModelBytes)});
}

int run_export(const ExportCommand& options) {
  static const std::map<std::string, layers::DType> dtypes = {
      {"fp32", layers::DType::f32}, {"fp16", layers::DType::f16}, {"bf16", layers::DType::bf16}};
  constexpr double kGigabyte = 1e9;
  // Files are cut at decimal gigabytes, as Hugging Face's tools count them.
  const runtime::ExportOptions how{
      .dtype = dtypes.at(options.precision),
      .shard_bytes = static_cast<std::uint64_t>(options.file_gb * kGigabyte),
      .averages = !options.without_ema,
      .base = options.base};
  if (options.onnx)
    print(options, write_onnx(options, how.shard_bytes));
  else if (options.weights)
    print(options, runtime::export_weights(options.checkpoint, options.folder, how));
  else if (options.adapter)
    print(options, runtime::export_adapter(options.checkpoint, options.folder, how));
  else
    print(options, runtime::export_model(options.checkpoint, options.folder, how));
  return exit_done;
}

/// Adds the options of an ONNX model, which is none of the other forms.
void add_onnx_options(CLI::App* command, ExportCommand& options,
                      const std::vector<CLI::Option*>& others) {
  CLI::Option* const onnx =
      command->add_flag("--onnx", options.onnx,
                        "Of a CTC model, a model of ONNX from samples to logits, and tokens.txt");
  for (CLI::Option* const form : others) onnx->excludes(form);
  command->add_flag("--int8", options.eight_bits, "With --onnx: the weights of products in 8 bits")
      ->needs(onnx);
  takes_number(
      command->add_option("--rms", options.level,
                          "With --onnx: root mean square to which every recording is scaled"),
      {1e-6, 1})
      ->needs(onnx);
}

constexpr const char* kFooter =
    "A wav2vec 2.0 model becomes a Wav2Vec2ForCTC, a FastConformer a ParakeetForCTC,\n"
    "ParakeetForRNNT or ParakeetForTDT, and a w2v-BERT a Wav2Vec2BertForCTC. With an attention\n"
    "decoder, Whisper's encoder becomes a WhisperForConditionalGeneration, and a FastConformer "
    "a\n"
    "CanaryForConditionalGeneration or CohereAsrForConditionalGeneration. Exit code 2:\n"
    "transformers has no such model. --weights leaves out the optimizer's state, so that no run\n"
    "resumes from the folder. Adapters are added to the weights, except with --adapter. --onnx "
    "is\n"
    "for ONNX Runtime and sherpa-onnx.\n\n"
    "Examples:\n"
    "  penstock export --weights outputs/mine -o weights --precision bf16\n"
    "  penstock export outputs/omni-300m -o for-transformers\n"
    "  penstock export outputs/omni-300m -o halves --precision bf16\n"
    "  penstock export --adapter outputs/mine -o adapter --base facebook/mms-300m\n"
    "  penstock export --onnx outputs/mine -o served";

}  // namespace

void add_export(CLI::App& app, Run& run) {
  const auto options = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand("export",
                                         "Write a checkpoint as transformers of Hugging Face or "
                                         "ONNX Runtime loads it, or its weights alone");
  takes_checkpoint(command, options->checkpoint);
  takes_folder(command->add_option("-o,--output", options->folder, "The folder, which is made"),
               FolderUse::written)
      ->required();
  CLI::Option* const weights =
      command->add_flag("--weights", options->weights,
                        "Of any model, the weights alone, as a checkpoint that trainer.init takes");
  CLI::Option* const adapter =
      command
          ->add_flag("--adapter", options->adapter,
                     "Write the adapters of a training with lora.rank alone, as PEFT saves them")
          ->excludes(weights);
  command
      ->add_option("--base", options->base,
                   "With --adapter: name or folder of the base, for adapter_config.json")
      ->needs(adapter);
  add_onnx_options(command, *options, {weights, adapter});
  command->add_flag(
      "--without-ema", options->without_ema,
      "Of a training with trainer.ema, the weights in place of their moving averages");
  command->option_defaults()->always_capture_default();
  command->add_option("--precision", options->precision, "Type of number of the weights")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  takes_number(command->add_option("--file-gb", options->file_gb,
                                   "Gigabytes of a file, unless one tensor has more. A larger ONNX "
                                   "model has its weights in a second file, of any size"),
               {1e-6, 1e6});
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(kFooter);
  command->callback(
      [options, &run] { run = on_rank_0([options] { return run_export(*options); }); });
}

}  // namespace penstock::tools
