#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/support/tree/source_files.h"

namespace penstock::test {
namespace {

using test::SourceFile;

constexpr std::size_t max_lines = 500;

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
  return matches(file.bracketed,
                 R"(^(Eigen|nlohmann|toml\+\+|CLI|spdlog|fmt)/|^cuda|^nccl|^sentencepiece)");
}

/// Code in pieces that end with ';', '{' or '}', each in one line.
std::vector<std::string> statements_of(const SourceFile& file) {
  std::vector<std::string> statements(1);
  for (const std::string& line : file.code) {
    for (const char c : line + " ") {
      statements.back() += c;
      if (c == ';' || c == '{' || c == '}') statements.emplace_back();
    }
  }
  return statements;
}

/// Whether a reference that a condition bound is written to in the statements after it.
bool is_written(const std::vector<std::string>& statements, std::size_t bound,
                const std::string& name) {
  constexpr std::size_t near = 6;
  const std::regex written("(^|[^\\w.>])" + name +
                           R"((\.\w+|\[[^\]]*\])*\s*([-+*/%&|^]?=[^=]|\+\+|--))" + R"(|(\+\+|--))" +
                           name + "\\b");
  for (std::size_t i = bound + 1; i < std::min(statements.size(), bound + 1 + near); ++i) {
    if (std::regex_search(statements[i], written)) return true;
  }
  return false;
}

/// An expression that chooses what to assign to: "(a ? b : c) = x", also by way of a reference.
bool chooses_target(const SourceFile& file) {
  // After a name, a parenthesis holds arguments; within one, "==" and "<=" assign nothing.
  static const std::string part = "(?:[^=]|[=!<>]=)*";
  static const std::regex direct("(^|[^\\w\\s])\\s*\\(" + part + "\\?" + part + ":" + part +
                                 R"(\)\s*([-+*/%&|^]|<<|>>)?=[^=])"
                                 R"(|(\+\+|--)\s*\([^()]*\?|\([^()]*\?[^()]*\)\s*(\+\+|--))");
  static const std::regex reference(R"(^\s*(\w[\w:<>, ]*)[&*]\s*(\w+)\s*=[^?]*\?)");
  const std::vector<std::string> statements = statements_of(file);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const std::string& statement = statements[i];
    if (statement.find('?') == std::string::npos) continue;
    std::smatch match;
    if (std::regex_search(statement, direct)) return true;
    if (std::regex_search(statement, match, reference) && is_written(statements, i, match[2]))
      return true;
  }
  return false;
}

/// Returns the rules of CONTRIBUTING.md that a file breaks.
std::vector<std::string> broken(const SourceFile& file) {
  std::vector<std::string> rules;
  if (!file.in("tests") &&
      matches(file.code, R"(\bstd::to_string\b|\bw?o?stringstream\b|\bstd::v?format\w*)"))
    rules.push_back("formats text without fmt");
  if (chooses_target(file)) rules.push_back("chooses in an expression what to assign to");
  if (file.lines.size() > max_lines) rules.push_back("is longer than 500 lines");
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
  // A communicator's abort() ends the job, and a child that can't become its program ends itself.
  // Elsewhere errors are thrown.
  const std::string ways = file.in("comm") ? "exit|_exit|_Exit|quick_exit"
                                           : "exit|_exit|_Exit|quick_exit|abort|terminate";
  if (!file.in("tools") && !file.in("tests") &&
      file.path != "runtime/supervisor/child_process.cpp" &&
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
  EXPECT_EQ(faults("runtime/a.cpp", "auto a = fmt::format(\"{}\", std::to_chars(b, e, 1).ptr);"),
            0u);
  EXPECT_EQ(faults("tests/a.cpp", "auto a = std::to_string(1);\n"), 0u);
  EXPECT_EQ(faults("layers/a.cpp", "auto a = std::to_string(1);\n"), 1u);
  EXPECT_EQ(faults("layers/a.cpp", "std::ostringstream a;\n"), 1u);
  EXPECT_EQ(faults("tools/a.cpp", "std::stringstream a;\n"), 1u);
  EXPECT_EQ(faults("tools/a.cpp", "auto a = std::format(\"\", 1);\n"), 1u);
  std::string text;
  for (std::size_t line = 0; line <= max_lines; ++line) text += "\n";
  EXPECT_EQ(faults("layers/a.cpp", text), 1u);
}

TEST(HouseRules, NoticeChosenTargets) {
  const auto chosen = [](const std::string& text) {
    return !broken(test::parse_source("layers/a.cpp", text)).empty();
  };
  EXPECT_FALSE(chosen("x = (a ? b : c) + 1;"));
  EXPECT_FALSE(chosen("x = f(a ? b : c) == d;"));
  EXPECT_FALSE(chosen("for (int i = (a ? 1 : 2); i <= n; ++i) x = 1;"));
  EXPECT_FALSE(chosen("if (a ? b : c) x = 1;"));
  EXPECT_FALSE(chosen("const auto& x = a ? b : c; y = x;"));
  EXPECT_FALSE(chosen("Stream& x = a ? *b : c; x.run(); y.x = 1; if (x == y) f();"));
  EXPECT_FALSE(chosen("v.at(a ? i : j) = 1;"));
  EXPECT_TRUE(chosen("(a ? b : c) = 1;"));
  EXPECT_TRUE(chosen("(a == 0 ? b : c) = 1;"));
  EXPECT_TRUE(chosen("x = 1; (a <= d ? b : c) += 1;"));
  EXPECT_TRUE(chosen("(f(a) ? b :\n c) += 1;"));
  EXPECT_TRUE(chosen("*(a ? &b : &c) = 1;"));
  EXPECT_TRUE(chosen("++(a ? b : c);"));
  EXPECT_TRUE(chosen("auto& x = a ? b : c; x = 1;"));
  EXPECT_TRUE(chosen("double& x = a < 3 ?\n b : c; f(); x[2].y += 1;"));
  EXPECT_TRUE(chosen("int& x = a ? b : c; ++x;"));
  EXPECT_TRUE(chosen("int* x = a ? &b : &c; *x = 1;"));
}

}  // namespace
}  // namespace penstock::test
