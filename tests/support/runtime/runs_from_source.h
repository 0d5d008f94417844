#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

/// A checkpoint of two steps in "source", of the letters abcd, and what other runs make of it.
class RunsFromSource : public testing::Test {
 protected:
  using Overrides = std::vector<std::string>;
  using Bytes = std::vector<std::byte>;

  RunsFromSource();

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  /// Trains for two steps, from the source unless overrides say else.
  runtime::TrainingSummary run(const std::string& output, const Overrides& overrides,
                               int ranks = 1);

  /// Runs one step that moves no weight by as much as its last bit: all is as it began.
  std::string start(const std::string& output, Overrides overrides, int ranks = 1);

  static Bytes tensor(const std::filesystem::path& output, const std::string& name);
  /// Returns the rows of a tensor of the model, or of its moving average, as FP32.
  static std::vector<std::vector<float>> rows(const std::filesystem::path& output,
                                              const std::string& name);
  bool as_in_source(const std::filesystem::path& output, const std::string& name) const {
    return tensor(output, name) == tensor(in("source"), name);
  }
  bool noted(const std::string& part) const { return notes_.find(part) != std::string::npos; }

  std::string fault(const Overrides& overrides) {
    return message_of<CheckpointError>([&] { run("refused", overrides); });
  }
  /// The same for errors of the recipe.
  std::string refusal(const Overrides& overrides) {
    return message_of<ConfigError>([&] { run("refused", overrides); });
  }

  TemporaryFolder folder_;
  std::string notes_;
};

}  // namespace penstock::test
