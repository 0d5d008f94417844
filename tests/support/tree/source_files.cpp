#include "tests/support/tree/source_files.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/tree/sources.h"

namespace penstock::test {
namespace {

/// The text with comments and the insides of literals blanked, line ends kept.
std::string code_of(const std::string& text) {
  std::string code;
  for (std::size_t i = 0; i < text.size();) {
    const auto skip_to = [&](std::size_t end) {
      for (end = std::min(end, text.size()); i < end; ++i) {
        if (text[i] == '\n') code += '\n';
      }
    };
    if (text.compare(i, 2, "//") == 0) {
      skip_to(text.find('\n', i));
    } else if (text.compare(i, 2, "/*") == 0) {
      skip_to(text.find("*/", i) + 2);
    } else if (text.compare(i, 2, "R\"") == 0) {
      const auto open = text.find('(', i);
      const std::string close = ')' + text.substr(i + 2, open - i - 2) + '"';
      skip_to(text.find(close, open) + close.size());
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !std::isalnum(text[i - 1])))) {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != text[i] && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      skip_to(end + 1);
    } else {
      code += text[i++];
    }
  }
  return code;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

SourceFile parse_source(std::string path, const std::string& text) {
  SourceFile file{std::move(path), lines_of(text), lines_of(code_of(text)), {}, {}};
  static const std::regex include(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  for (const std::string& line : file.lines) {
    std::smatch match;
    if (std::regex_search(line, match, include)) {
      if (match[1] == "\"")
        file.quoted.push_back(match[2]);
      else
        file.bracketed.push_back(match[2]);
    }
  }
  return file;
}

std::vector<SourceFile> source_files() {
  static const std::vector<std::string> endings = {".h", ".cpp", ".cu", ".cuh"};
  std::vector<SourceFile> files;
  for (const char* folder :
       {"base", "layers", "comm", "partition", "configs", "runtime", "tools", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source(folder))) {
      if (std::ranges::find(endings, entry.path().extension().string()) == endings.end()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(in), {});
      files.push_back(parse_source(entry.path().lexically_relative(source("")).string(), text));
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace penstock::test
