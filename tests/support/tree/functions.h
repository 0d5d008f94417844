#pragma once

#include <string>
#include <vector>

#include "tests/support/tree/source_files.h"

namespace penstock::test {

/// A function as it is written: its definition, or a declaration, which has one line or a few.
struct Function {
  std::string name;       // as before its parameters: "Session::Session", "operator="
  std::size_t line = 0;   // where it begins, from 1; of a template, at "template"
  std::size_t lines = 0;  // to its closing brace or semicolon
  std::size_t parameters = 0;
};

/// Functions of namespaces and classes, tests among them, in the order of the file. A lambda and a
/// function within a function are part of it.
std::vector<Function> functions_of(const SourceFile& file);

}  // namespace penstock::test
