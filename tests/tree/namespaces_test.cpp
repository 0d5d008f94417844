#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "tests/support/tree/source_files.h"

namespace penstock::test {
namespace {

/// A type with a body in a named namespace.
struct Type {
  std::string space;  // "penstock::layers::cuda"
  std::string name;
};

/// The namespaces and types of one file. A namespace that only declares types is left out: a header
/// names those of other folders in that way.
struct Names {
  std::vector<std::string> spaces;
  std::vector<Type> types;
};

/// The namespace that belongs to a folder; a test has that of the file which it tests.
std::string expected_space(const std::string& path) {
  static const std::regex folders(
      "^(tests/)?(partition|runtime|layers|comm|configs|tools|base)/(.*/)?[^/]*$");
  static const std::regex emulation("^tests/emulated_cuda/");
  std::smatch match;
  if (std::regex_search(path, emulation)) return "emulated_cuda";
  if (!std::regex_match(path, match, folders)) return "penstock::test";
  return match[2] == "base" ? "penstock" : "penstock::" + match[2].str();
}

/// Folders may part their namespace further; what lies below penstock itself belongs to a folder.
/// The emulation defines functions of CUDA, which have none.
bool belongs(const std::string& space, const std::string& expected) {
  return space == expected || (expected != "penstock" && space.starts_with(expected + "::")) ||
         (space.empty() && expected == "emulated_cuda");
}

/// Reads line by line. Invariant: `open` holds the namespaces around the line, and `depth` the open
/// braces; a line stands directly in a namespace where the two are equal.
Names names_of(const SourceFile& file) {
  static const std::regex space(R"(^(?:inline )?namespace(?: ([\w:]+))? \{)");
  static const std::regex type(
      R"(^(?:class|struct|union|enum class|enum)\s+(?:alignas\(.*?\)\s+)?(\w+)( final)?( :[^;]*)?( \{.*)?$)");
  static const std::regex declaration(R"(^\s*(template <.*>|(class|struct|enum class) \w+;)?\s*$)");
  Names names;
  std::vector<std::string> open;
  std::vector<bool> defines, anonymous;
  std::size_t depth = 0;
  for (const std::string& line : file.code) {
    std::smatch match;
    if (depth == open.size() && std::regex_search(line, match, space)) {
      const std::string outer = open.empty() ? "" : open.back();
      const std::string name = match[1];
      open.push_back(name.empty() ? outer : outer.empty() ? name : outer + "::" + name);
      defines.push_back(false);
      anonymous.push_back(name.empty() || (!anonymous.empty() && anonymous.back()));
      ++depth;
      continue;
    }
    if (!open.empty() && depth == open.size()) {
      if (line.starts_with("}")) {
        if (defines.back()) names.spaces.push_back(open.back());
        open.pop_back();
        defines.pop_back();
        anonymous.pop_back();
        --depth;
        continue;
      }
      if (!anonymous.back() && std::regex_match(line, match, type))
        names.types.push_back({open.back(), match[1]});
      if (!std::regex_match(line, declaration)) defines.back() = true;
    }
    for (const char c : line) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
  }
  return names;
}

/// Namespaces of the file that its folder does not own.
std::vector<std::string> strangers(const SourceFile& file) {
  std::vector<std::string> found;
  for (const std::string& space : names_of(file).spaces)
    if (!belongs(space, expected_space(file.path))) found.push_back(space);
  return found;
}

/// Types by their full name, with the files that define them.
std::map<std::string, std::vector<std::string>> definitions(const std::vector<SourceFile>& files) {
  std::map<std::string, std::vector<std::string>> files_of;
  for (const SourceFile& file : files)
    for (const Type& type : names_of(file).types)
      files_of[type.space + "::" + type.name].push_back(file.path);
  return files_of;
}

TEST(Namespaces, FollowTheTopFolders) {
  for (const SourceFile& file : source_files())
    for (const std::string& space : strangers(file))
      ADD_FAILURE() << file.path << " defines names in " << space << ", not in "
                    << expected_space(file.path);
}

TEST(Namespaces, AreNoticedWhereTheyDoNotFollow) {
  const auto found = [](const char* path, const char* text) {
    return strangers(parse_source(path, text));
  };
  const char* layer = "namespace penstock::layers {\nnamespace {\nint a;\n}\n}\n";
  EXPECT_TRUE(found("layers/nn/a.cpp", layer).empty());
  EXPECT_TRUE(found("tests/layers/nn/a_test.cpp", layer).empty());
  EXPECT_EQ(found("runtime/a.cpp", layer), std::vector<std::string>{"penstock::layers"});
  EXPECT_TRUE(found("layers/a.h", "namespace penstock::layers::cuda {\nint a;\n}\n").empty());
  EXPECT_TRUE(found("runtime/a.h", "namespace penstock::layers {\nclass A;\n}\n").empty());
  EXPECT_EQ(found("base/a.h", "namespace penstock::base {\nint a;\n}\n"),
            std::vector<std::string>{"penstock::base"});
}

TEST(Namespaces, DefineATypesNameOnce) {
  std::vector<SourceFile> files = source_files();
  std::erase_if(files, [](const SourceFile& file) { return file.in("tests"); });
  const auto files_of = definitions(files);
  EXPECT_GT(files_of.size(), 400u);
  for (const auto& [type, places] : files_of)
    if (places.size() > 1) ADD_FAILURE() << type << ": " << places[0] << " and " << places[1];
}

TEST(Namespaces, FindTypesOfOneName) {
  const auto in_space = [](const char* path, const std::string& space, const std::string& body) {
    return parse_source(path, "namespace " + space + " {\n" + body + "\n}\n");
  };
  const auto files_of = definitions({
      in_space("a.cpp", "penstock::a",
               "struct Edge { int from; };\nclass Kept final : public X {\n};"),
      in_space("b.cpp", "penstock::b", "struct Edge {\n  struct Kept {};\n};"),
      in_space("c.cpp", "penstock::a", "void f() {\n}\nstruct Edge {\n};\nstruct Kept;"),
      in_space("d.cpp", "penstock::a", "namespace {\nstruct Kept {\n};\n}"),
  });
  EXPECT_EQ(files_of.at("penstock::a::Edge").size(), 2u);
  EXPECT_EQ(files_of.at("penstock::a::Kept").size(), 1u);
  EXPECT_EQ(files_of.at("penstock::b::Edge").size(), 1u);
  EXPECT_EQ(files_of.size(), 3u);
}

}  // namespace
}  // namespace penstock::test
