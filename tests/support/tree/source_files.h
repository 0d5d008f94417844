#pragma once

#include <string>
#include <vector>

namespace penstock::test {

/// A source file of the repository, comments and what stands between quotes taken out.
struct SourceFile {
  std::string path;                    // from the root: "layers/tensor/tensor.h"
  std::vector<std::string> lines;      // as they stand
  std::vector<std::string> code;       // without comments and texts
  std::vector<std::string> quoted;     // files included by #include "…"
  std::vector<std::string> bracketed;  // files included by #include <…>

  bool in(const std::string& folder) const { return path.starts_with(folder + "/"); }
  bool header() const { return path.ends_with(".h") || path.ends_with(".cuh"); }
};

SourceFile parse_source(std::string path, const std::string& text);

/// Every C++ and CUDA source of the tree, by path; tests included, build folders not.
std::vector<SourceFile> source_files();

}  // namespace penstock::test
