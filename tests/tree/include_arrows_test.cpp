#include <gtest/gtest.h>

#include "tests/support/source_files.h"

namespace penstock {
namespace {

using test::SourceFile;

/// Files below `from` may include what is below `to`, and nothing else of the tree. The longest
/// `from` that fits a file decides.
struct Arrow {
  std::string from;
  std::vector<std::string> to;
};

const std::vector<Arrow> arrows = {
    {"base", {"base"}},
    {"configs", {"configs", "base"}},
    {"layers", {"layers", "base"}},
    {"comm", {"comm", "layers/tensor", "base"}},
    {"comm/nccl", {"comm", "layers/tensor", "layers/cuda", "base"}},
    // Declarations: what can be planned on any machine, for any device.
    {"partition",
     {"partition", "configs", "base", "layers/tensor", "layers/activation.h", "layers/layer.h",
      "layers/layer_plan.h", "layers/models", "layers/ops/norms.h"}},
    {"runtime", {"runtime", "partition", "layers", "comm", "configs", "base"}},
    {"runtime/data", {"runtime/data", "layers/tensor", "configs", "base"}},
    {"runtime/text", {"runtime/text", "layers/tensor", "configs", "base"}},
    {"tools", {"tools", "runtime", "partition", "configs", "base"}},
    {"tests", {"tests", "tools", "runtime", "partition", "layers", "comm", "configs", "base"}},
};

bool below(const std::string& path, const std::string& place) {
  return path == place || path.starts_with(place + "/");
}

/// What `file` includes against the arrows.
std::vector<std::string> forbidden(const SourceFile& file) {
  const Arrow* arrow = nullptr;
  for (const Arrow& a : arrows) {
    if (below(file.path, a.from) && (arrow == nullptr || a.from.size() > arrow->from.size())) {
      arrow = &a;
    }
  }
  std::vector<std::string> found;
  for (const std::string& include : file.quoted) {
    bool allowed = false;
    for (const std::string& to : arrow->to) allowed = allowed || below(include, to);
    if (!allowed) found.push_back(include);
  }
  return found;
}

TEST(IncludeArrows, HoldInTheTree) {
  const auto files = test::source_files();
  ASSERT_GT(files.size(), 50u);
  for (const SourceFile& file : files) {
    for (const std::string& include : forbidden(file)) {
      ADD_FAILURE() << file.path << " must not include \"" << include << "\"";
    }
  }
}

TEST(IncludeArrows, AreNoticedWhereBroken) {
  const auto includes = [](const char* path, const std::string& other) {
    return forbidden(test::parse_source(path, "// x\n#include \"" + other + "\"\n"));
  };
  EXPECT_TRUE(includes("runtime/trainer/a.cpp", "comm/mpi.h").empty());
  EXPECT_TRUE(includes("runtime/data/a.cpp", "base/error.h").empty());
  for (const auto& [path, other] : std::vector<std::pair<const char*, std::string>>{
           {"comm/a.cpp", "layers/backend.h"},
           {"base/a.h", "configs/config.h"},
           {"configs/a.h", "layers/tensor/tensor.h"},
           {"layers/cpu/a.cpp", "configs/config.h"},
           {"partition/a.h", "layers/cpu/cpu_backend.h"},
           {"runtime/data/a.cpp", "runtime/text/alphabet.h"},
           {"runtime/data/a.cpp", "layers/layer.h"},
           {"tools/a.cpp", "comm/mpi.h"},
           {"tools/a.cpp", "a.h"}}) {
    EXPECT_EQ(includes(path, other), std::vector<std::string>{other}) << path;
  }
}

}  // namespace
}  // namespace penstock
