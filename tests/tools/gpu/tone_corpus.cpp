// tone_corpus FOLDER: a corpus that tools/gpu_check trains on (train.jsonl, validation.jsonl and
// their recordings), and a recipe for it (recipe.toml).

#include "tests/support/runtime/tone_corpus.h"

#include <filesystem>
#include <iostream>

#include "tests/support/system/temporary_folder.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tone_corpus FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::absolute(argv[1]);
  std::filesystem::create_directories(folder);
  const auto train = folder / "train.jsonl", validation = folder / "validation.jsonl";
  penstock::test::write_tone_corpus(train, 64, 1);
  penstock::test::write_tone_corpus(validation, 8, 2);
  penstock::test::write_file(folder / "recipe.toml",
                             penstock::test::tone_recipe(train, validation, folder / "output"));
}
