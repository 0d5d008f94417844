#include "tests/support/tree/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace penstock::test {
namespace {

using test::Function;
using test::SourceFile;

constexpr std::size_t max_function_lines = 50, max_parameters = 6;

/// NVIDIA's functions, with NVIDIA's parameters.
bool emulates(const SourceFile& file) { return file.in("tests/emulated_cuda/emulation"); }

/// A macro's "parameters" are its own affair.
bool is_macro(const Function& function) {
  return std::ranges::none_of(function.name, [](unsigned char c) { return std::islower(c); });
}

/// Returns the rules on functions that a file breaks.
std::vector<std::string> broken_limits(const SourceFile& file) {
  std::vector<std::string> rules;
  for (const Function& function : test::functions_of(file)) {
    const std::string where = std::to_string(function.line) + ": " + function.name + " has ";
    if (function.lines > max_function_lines)
      rules.push_back(where + std::to_string(function.lines) + " lines, more than 50");
    if (function.parameters > max_parameters && !emulates(file) && !is_macro(function))
      rules.push_back(where + std::to_string(function.parameters) + " parameters, more than 6");
  }
  return rules;
}

std::vector<Function> functions(const std::string& text) {
  return test::functions_of(test::parse_source("layers/a.cpp", text));
}

TEST(FunctionRules, HoldInTheTree) {
  std::size_t count = 0;
  for (const SourceFile& file : test::source_files()) {
    count += test::functions_of(file).size();
    for (const std::string& rule : broken_limits(file)) ADD_FAILURE() << file.path << ":" << rule;
  }
  EXPECT_GT(count, 5000u) << "functions are not found";
}

TEST(FunctionRules, AreNoticedWhereBroken) {
  const auto faults = [](const std::string& text, const char* path = "layers/a.cpp") {
    return broken_limits(test::parse_source(path, text)).size();
  };
  const std::string blank(max_function_lines - 2, '\n');
  EXPECT_EQ(faults("void f() {" + blank + "\n}\n"), 0u);
  EXPECT_EQ(faults("void f() {\n" + blank + "\n}\n"), 1u);
  EXPECT_EQ(faults("void f(int a, int b, int c, int d, int e, int g);\n"), 0u);
  const std::string seven = "void f(int a, int b, int c, int d, int e, int g, int h);\n";
  EXPECT_EQ(faults(seven), 1u);
  EXPECT_EQ(faults("class A {\n public:\n  virtual " + seven + "};\n"), 1u);
  EXPECT_EQ(faults(seven, "tests/emulated_cuda/emulation/a.cpp"), 0u);
  EXPECT_EQ(faults("DEFINE(A, a, b, c, d, e, g, h)\n"), 0u);
}

struct Case {
  const char* text;
  const char* name;
  std::size_t parameters = 0;
};

TEST(FunctionsOf, ReadsNamesAndParameters) {
  const std::vector<Case> cases{
      {"int f();", "f"},
      {"namespace n {\nvoid f(int a) {}\n}", "f", 1},
      {"extern \"C\" {\nvoid f(int a) {}\n}", "f", 1},
      {"std::map<int, int> f(std::map<int, int> a, int b = g(1, 2));", "f", 2},
      {"struct A {\n  A(int a) : b_(a, a), c_{a}, d_<int>{a} {}\n};", "A", 1},
      {"A::A(int a, int b) noexcept : A(a) { f(1, 2, 3); }", "A::A", 2},
      {"template <class T, int N = 3> T A<T>::f(int a) const { return {}; }", "A<T>::f", 1},
      {"bool A::operator==(const A& a) const { return true; }", "A::operator==", 1},
      {"struct A {\n  int operator()(int a, int b) const;\n};", "operator()", 2},
      {"void f(std::function<void(int, int)> g, int b) { g(1, 2); }", "f", 2},
      {"__global__ void __launch_bounds__(32) f(int a) {}", "f", 1},
      {"auto f(int a) -> std::vector<int> { return {a}; }", "f", 1},
      {"A::~A() {\n  if (b) {\n  }\n}", "A::~A"},
      {"#define A(a) \\\n  void a() {}\nvoid f(int a) {}", "f", 1}};
  for (const Case& a_case : cases) {
    const std::vector<Function> found = functions(a_case.text);
    ASSERT_EQ(found.size(), 1u) << a_case.text;
    EXPECT_EQ(found.front().name, a_case.name) << a_case.text;
    EXPECT_EQ(found.front().parameters, a_case.parameters) << a_case.text;
  }
}

TEST(FunctionsOf, PassesOverWhatIsNoFunction) {
  for (const char* text :
       {"int a = f(1);", "const A a{f(1)};", "enum class A { b, c };", "using A = void (*)(int);",
        "static_assert(a(1) == 2);", "const auto f = [](int a) { return a; };",
        "struct A {\n  int a = 0;\n  std::vector<int> b = {};\n};"})
    EXPECT_TRUE(functions(text).empty()) << text;
}

TEST(FunctionsOf, CountsFromTheHeadToTheClosingBrace) {
  const auto found =
      functions("\n\ntemplate <class T>\nvoid f(\n    T a) {\n  g([] {});\n}\nint h();");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].line, 3u);
  EXPECT_EQ(found[0].lines, 5u);
  EXPECT_EQ(found[1].line, 8u);
  EXPECT_EQ(found[1].lines, 1u);
}

}  // namespace
}  // namespace penstock::test
