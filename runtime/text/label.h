#pragma once

#include <compare>
#include <string>

namespace penstock::runtime {

/// A label of a vocabulary, which labels of other vocabularies compare with. Two labels are equal
/// if they add the same text to a transcript, or if both add none and are the same symbol.
///
/// This holds between characters and pieces too, because a label stands for what is heard. The
/// character 'a' and the piece "a", which continues a word, both add "a". A piece that begins a
/// word adds the space before it: "▁a" adds " a", which no character does, and "▁" adds " ", as the
/// character ' ' does. A symbol such as <unk>, and a single byte, is no text, so it equals no
/// character of the same spelling.
struct Label {
  std::string written;  // as its vocabulary has it: "a", "▁the", "<unk>"; empty for kNoText
  std::string text;     // what it adds: "a", " the"; empty for symbols and bytes

  std::strong_ordering operator<=>(const Label& other) const {
    if (!text.empty() || !other.text.empty()) return text <=> other.text;
    return written <=> other.written;
  }
  bool operator==(const Label& other) const { return (*this <=> other) == 0; }
};

}  // namespace penstock::runtime
