#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

/// Says how a job's ranks are started. A count of 0 is a process alone, without mpirun.
struct Ranks {
  int count = 0;
  bool tcp = false;     // messages over TCP alone
  bool folder = false;  // started by tools/ranks: no mpirun, and every message is a file
};

/// Holds what equal trainings have in common, bit for bit.
struct TrainingRecord {
  std::map<int, std::string> losses;           // by step, in hexadecimal
  std::map<std::string, std::string> tensors;  // bytes of the newest checkpoint's
  bool operator==(const TrainingRecord&) const = default;
};

/// A folder with a tone corpus and a recipe (train.jsonl, validation.jsonl, recipe.toml), for tests
/// of the whole command. Each test program names the binary and mpirun.
class TrainingFolder {
 public:
  TrainingFolder(std::string binary, std::string mpirun);

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  /// Runs `penstock WORDS…`. Ends by force after five minutes, with code 124.
  Outcome run(std::vector<std::string> words, Ranks ranks = {}) const;

  /// The same under mpirun, where rank i runs in the folder i of this one, which may lack what
  /// others have. `words` are the shell's.
  Outcome run_apart(const std::string& words, int ranks = 2) const;

  /// `train recipe.toml trainer.output=OUTPUT OVERRIDES…`; OUTPUT lies in the folder.
  Outcome train(const std::string& output, std::vector<std::string> overrides,
                Ranks ranks = {}) const;

  TrainingRecord record(const std::string& output) const;

 private:
  std::vector<std::string> launch(Ranks ranks) const;

  std::string binary_, mpirun_;
  TemporaryFolder folder_;
};

}  // namespace penstock::test
