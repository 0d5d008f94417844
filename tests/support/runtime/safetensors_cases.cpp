#include "tests/support/runtime/safetensors_cases.h"

#include <fstream>
#include <sstream>

#include "tests/support/tree/sources.h"

namespace penstock::test {

std::vector<SafetensorsCase> safetensors_cases() {
  const auto folder = source("tests/runtime/checkpoint/cases");
  std::ifstream verdicts(folder / "verdicts.tsv");
  std::vector<SafetensorsCase> cases;
  std::string line;
  std::getline(verdicts, line);  // the heading
  while (std::getline(verdicts, line)) {
    std::istringstream columns(line);
    std::string number, upstream;
    SafetensorsCase one;
    std::getline(columns, number, '\t');
    std::getline(columns, one.what, '\t');
    std::getline(columns, upstream, '\t');
    std::getline(columns, one.required);
    one.file = folder / (number + ".safetensors");
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace penstock::test
