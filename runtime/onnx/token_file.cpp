#include "runtime/onnx/token_file.h"

#include <fmt/format.h>

#include <algorithm>

// A line is read as two words, so that no symbol may have white space within it. A label whose text
// has some, such as a line break, keeps its written form, which has none. So does a label that is a
// byte, <0x41> or a part of a character: a line has no byte that is no text.

namespace penstock::runtime {
namespace {

constexpr std::string_view kBlank = "<blk>";  // sherpa-onnx finds the blank by this name

std::string with_marked_spaces(std::string text) {
  constexpr std::string_view kMark = "▁";
  for (std::size_t at = 0; (at = text.find(' ', at)) != std::string::npos; at += kMark.size())
    text.replace(at, 1, kMark);
  return text;
}

bool is_one_word(const std::string& text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) {
    return c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
  });
}

std::string token_symbol(std::span<const Label> vocabulary, std::int64_t row) {
  if (row == 0) return std::string(kBlank);
  if (row >= std::ssize(vocabulary)) return fmt::format("<{}>", row);
  const Label& label = vocabulary[static_cast<std::size_t>(row)];
  std::string text = with_marked_spaces(label.text);
  if (is_one_word(text)) return text;
  std::string written = with_marked_spaces(label.written);
  return is_one_word(written) ? written : fmt::format("<{}>", row);
}

}  // namespace

std::string token_lines(std::span<const Label> vocabulary, std::int64_t rows) {
  std::string lines;
  for (std::int64_t row = 0; row < rows; ++row)
    lines += fmt::format("{} {}\n", token_symbol(vocabulary, row), row);
  return lines;
}

}  // namespace penstock::runtime
