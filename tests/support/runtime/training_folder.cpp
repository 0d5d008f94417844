#include "tests/support/runtime/training_folder.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/tree/sources.h"

namespace penstock::test {

TrainingFolder::TrainingFolder(std::string binary, std::string mpirun)
    : binary_(std::move(binary)), mpirun_(std::move(mpirun)) {
  write_tone_corpus(in("train.jsonl"), 30, 1);
  write_tone_corpus(in("validation.jsonl"), 7, 2);
  write_file(in("recipe.toml"),
             tone_recipe(in("train.jsonl"), in("validation.jsonl"), in("output")));
}

std::vector<std::string> TrainingFolder::launch(Ranks ranks) const {
  std::vector<std::string> command = {"timeout", "-k", "2", "300"};
  if (ranks.folder) {
    command.insert(command.end(), {source("tools/ranks"), std::to_string(ranks.count)});
  } else if (ranks.count > 0) {
    command.insert(command.end(), {mpirun_, "--allow-run-as-root", "--oversubscribe", "-np",
                                   std::to_string(ranks.count)});
    // Each job has its own: one that ends would remove the folder in which another one begins.
    command.insert(command.end(), {"--mca", "orte_tmpdir_base", in("sessions")});
    if (ranks.tcp) command.insert(command.end(), {"--mca", "btl", "tcp,self"});
  }
  return command;
}

Outcome TrainingFolder::run(std::vector<std::string> words, Ranks ranks) const {
  std::vector<std::string> command = launch(ranks);
  command.push_back(binary_);
  command.insert(command.end(), words.begin(), words.end());
  return run_program(command);
}

Outcome TrainingFolder::run_apart(const std::string& words, int ranks) const {
  std::vector<std::string> command = launch({.count = ranks});
  const std::string folder = in("") + "/$OMPI_COMM_WORLD_RANK";
  command.insert(command.end(), {"sh", "-c", "cd " + folder + " && exec " + binary_ + " " + words});
  return run_program(command);
}

Outcome TrainingFolder::train(const std::string& output, std::vector<std::string> overrides,
                              Ranks ranks) const {
  overrides.insert(overrides.begin(), {"train", in("recipe.toml"), "trainer.output=" + in(output)});
  return run(std::move(overrides), ranks);
}

TrainingRecord TrainingFolder::record(const std::string& output) const {
  TrainingRecord record;
  std::ifstream metrics(in(output) + "/metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("loss_hex")) record.losses[object["step"]] = object["loss_hex"];
  }
  const runtime::Checkpoint checkpoint = runtime::open_checkpoint(in(output));
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    const std::int64_t elements = layers::element_count(tensor.shape);
    std::string& bytes = record.tensors[name];
    bytes.resize(static_cast<std::size_t>(elements) * layers::size_of(tensor.dtype));
    checkpoint.read(name, 0, elements, std::as_writable_bytes(std::span(bytes)));
  }
  return record;
}

}  // namespace penstock::test
