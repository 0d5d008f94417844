#include <gtest/gtest.h>

#include <regex>

#include "tests/support/tree/source_files.h"

namespace penstock::test {
namespace {

using test::SourceFile;

constexpr std::size_t most_lines = 500;

bool matches(const std::vector<std::string>& lines, const std::string& pattern) {
  const std::regex regex(pattern);
  for (const std::string& line : lines) {
    if (std::regex_search(line, regex)) return true;
  }
  return false;
}

/// Device folders, where missing toolkits are decided by which files are compiled.
bool of_device(const SourceFile& file) { return matches({file.path}, "(^|/)(cuda|no_cuda)/"); }

bool includes_heavy_library(const SourceFile& file) {
  return matches(file.bracketed, R"(^(Eigen|nlohmann|toml\+\+|CLI|spdlog|fmt)/|^cuda|^nccl)");
}

/// What of the rules of CONTRIBUTING.md a file breaks.
std::vector<std::string> broken(const SourceFile& file) {
  std::vector<std::string> rules;
  if (file.lines.size() > most_lines) rules.push_back("is longer than 500 lines");
  if (file.header() && (file.code.empty() || file.code.front() != "#pragma once")) {
    rules.push_back("does not begin with #pragma once");
  }
  if (!of_device(file) && matches(file.code, R"(^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b)")) {
    rules.push_back("chooses code by the preprocessor");
  }
  if (file.header() && !file.in("tests") && !of_device(file) && !file.in("comm/nccl") &&
      includes_heavy_library(file)) {
    rules.push_back("includes a heavy library in a header");
  }
  // A communicator's abort() ends the job; elsewhere errors are thrown.
  const std::string ways = file.in("comm") ? "exit|_exit|_Exit|quick_exit"
                                           : "exit|_exit|_Exit|quick_exit|abort|terminate";
  if (!file.in("tools") && !file.in("tests") &&
      matches(file.code, "(^|[^\\w.>])(std::|::)?(" + ways + ")\\s*\\(")) {
    rules.push_back("ends the process");
  }
  return rules;
}

TEST(HouseRules, HoldInTheTree) {
  for (const SourceFile& file : test::source_files()) {
    for (const std::string& rule : broken(file)) ADD_FAILURE() << file.path << " " << rule;
  }
}

TEST(HouseRules, AreNoticedWhereBroken) {
  const auto faults = [](const char* path, const std::string& text) {
    return broken(test::parse_source(path, text)).size();
  };
  EXPECT_EQ(faults("layers/a.cpp", "int a;\n// #if x\nconst char* b = \"exit(1)\";\n"), 0u);
  EXPECT_EQ(faults("layers/a.cpp", "int a = 1'000;\n/* abort() */\nchar b = '\"'; // exit()\n"),
            0u);
  EXPECT_EQ(faults("layers/cuda/a.cpp", "#if A\n#endif\n"), 0u);
  EXPECT_EQ(faults("runtime/a.cpp", "void f() { comm.abort(3); }\n"), 0u);
  EXPECT_EQ(faults("layers/a.cpp", "  # ifdef A\n#endif\n"), 1u);
  EXPECT_EQ(faults("layers/a.h", "int a;\n"), 1u);
  EXPECT_EQ(faults("layers/a.h", "#pragma once\n#include <Eigen/Dense>\n"), 1u);
  EXPECT_EQ(faults("layers/a.cpp", "void f() { std::exit(1); }\n"), 1u);
  EXPECT_EQ(faults("runtime/a.cpp", "void f() { abort(); }\n"), 1u);
  std::string text;
  for (std::size_t line = 0; line <= most_lines; ++line) text += "\n";
  EXPECT_EQ(faults("layers/a.cpp", text), 1u);
}

}  // namespace
}  // namespace penstock::test
