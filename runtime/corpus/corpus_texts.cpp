#include "runtime/corpus/corpus_texts.h"

#include <utility>

#include "base/error.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {

CorpusTexts read_texts(const std::filesystem::path& manifest, const Tokenizer& tokenizer) {
  CorpusTexts texts;
  for (ManifestEntry& entry : read_manifest(manifest, texts.faults)) try {
      texts.labels.push_back(tokenizer.encode(entry.text));
      texts.entries.push_back(std::move(entry));
    } catch (const DataError& error) {
      texts.faults.add(entry.where, error.what());
    }
  return texts;
}

std::string pack_lines(const CorpusTexts& texts) {
  Packer message;
  pack(texts.faults, message);
  for (std::size_t i = 0; i < texts.entries.size(); ++i) {
    message.add(texts.entries[i].audio.native());
    pack(texts.entries[i].offset, message);
    pack(texts.entries[i].duration, message);
    message.add(texts.entries[i].where);
    message.add(std::ssize(texts.labels[i]));
    message.add(ctc_frames(texts.labels[i]));
  }
  return message.bytes();
}

CorpusLines unpack_lines(std::string message) {
  Unpacker from(std::move(message));
  CorpusLines lines{{}, unpack_faults(from)};
  while (!from.empty()) {
    CorpusLine& line = lines.lines.emplace_back();
    line.audio = from.text();
    line.offset = unpack_optional<double>(from);
    line.duration = unpack_optional<double>(from);
    line.where = from.text();
    line.labels = from.number();
    line.frames = from.number();
  }
  return lines;
}

}  // namespace penstock::runtime
