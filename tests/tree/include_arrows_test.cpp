#include <gtest/gtest.h>

#include <optional>

#include "tests/support/tree/source_files.h"

namespace penstock::test {
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
    {"layers", {"layers", "base"}},
    // The keys of a recipe are those of the model's family and decoder, and more.
    {"configs", {"configs", "layers/models/model_family.h", "layers/models/decoder.h", "base"}},
    {"comm", {"comm", "layers/tensor", "base"}},
    {"comm/nccl", {"comm", "layers/tensor", "layers/cuda", "base"}},
    // Declarations: what can be planned on any machine, for any device.
    {"partition",
     {"partition", "configs", "base", "layers/tensor", "layers/activation.h", "layers/layer.h",
      "layers/layer_plan.h", "layers/models", "layers/ops/norms.h"}},
    {"runtime", {"runtime", "partition", "layers", "comm", "configs", "base"}},
    {"runtime/data", {"runtime/data", "runtime/store", "layers/tensor", "configs", "base"}},
    {"runtime/text", {"runtime/text", "layers/tensor", "configs", "base"}},
    {"tools", {"tools", "runtime", "partition", "layers/models/families.h", "configs", "base"}},
    {"tools/gpu/facts", {"tools/gpu/facts", "layers", "base"}},
    {"tests", {"tests", "tools", "runtime", "partition", "layers", "comm", "configs", "base"}},
};

/// Rooms of a folder, from the lowest: each may include those before it, so that none go in a
/// circle. Such a folder has no sources outside its rooms.
struct Storeys {
  std::string folder;
  std::vector<std::string> rooms;
};

const std::vector<Storeys> storeys = {
    {"partition", {"schedule", "layout", "planner"}},
    {"partition/planner",
     {"cost", "simulate", "cluster", "cut", "placement", "search", "plan", "choose", "report"}},
    {"runtime",
     {"text", "store", "data", "decoding", "checkpoint", "huggingface", "onnx", "job", "devices",
      "pipeline", "corpus", "optim", "planning", "trainer", "recognise", "profiling",
      "supervisor"}},
};

bool below(const std::string& path, const std::string& place) {
  return path == place || path.starts_with(place + "/");
}

/// Returns the includes of `file` that go against the arrows.
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

/// The storey of a path in that folder; nothing where it is in none.
std::optional<std::size_t> storey_of(const Storeys& house, const std::string& path) {
  for (std::size_t i = 0; i < house.rooms.size(); ++i)
    if (below(path, house.folder + "/" + house.rooms[i])) return i;
  return std::nullopt;
}

/// Returns what a file of a folder with rooms includes of rooms above its own. It returns the file
/// itself where it is in no room.
std::vector<std::string> upwards(const SourceFile& file) {
  std::vector<std::string> found;
  for (const Storeys& house : storeys) {
    if (!file.in(house.folder)) continue;
    const auto own = storey_of(house, file.path);
    if (!own) found.push_back(file.path);
    for (const std::string& include : file.quoted)
      if (own && storey_of(house, include).value_or(0) > *own) found.push_back(include);
  }
  return found;
}

TEST(Storeys, HoldInTheTree) {
  for (const SourceFile& file : test::source_files())
    for (const std::string& include : upwards(file))
      ADD_FAILURE() << file.path << " must not include \"" << include << "\", a room above its own";
}

TEST(Storeys, AreNoticedWhereBroken) {
  const auto includes = [](const char* path, const std::string& other) {
    return upwards(test::parse_source(path, "// x\n#include \"" + other + "\"\n"));
  };
  EXPECT_TRUE(includes("partition/planner/cut/a.cpp", "partition/planner/cost/cost.h").empty());
  EXPECT_TRUE(includes("partition/planner/cut/a.cpp", "partition/planner/cut/sweep.h").empty());
  EXPECT_EQ(includes("partition/planner/cost/a.cpp", "partition/planner/cut/sweep.h").size(), 1u);
  EXPECT_EQ(includes("partition/a.cpp", "base/error.h"),
            std::vector<std::string>{"partition/a.cpp"});
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
  EXPECT_TRUE(includes("runtime/trainer/a.cpp", "comm/join.h").empty());
  EXPECT_TRUE(includes("runtime/data/a.cpp", "base/error.h").empty());
  for (const auto& [path, other] : std::vector<std::pair<const char*, std::string>>{
           {"comm/a.cpp", "layers/backend.h"},
           {"base/a.h", "configs/config.h"},
           {"configs/a.h", "layers/tensor/tensor.h"},
           {"layers/cpu/a.cpp", "configs/config.h"},
           {"layers/nn/a.h", "configs/schema.h"},
           {"layers/models/a.cpp", "configs/config.h"},
           {"partition/a.h", "layers/cpu/cpu_backend.h"},
           {"runtime/data/a.cpp", "runtime/text/alphabet.h"},
           {"runtime/data/a.cpp", "layers/layer.h"},
           {"tools/a.cpp", "comm/join.h"},
           {"tools/a.cpp", "a.h"}}) {
    EXPECT_EQ(includes(path, other), std::vector<std::string>{other}) << path;
  }
}

}  // namespace
}  // namespace penstock::test
