#include "runtime/corpus/label_needs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/parallel.h"
#include "runtime/corpus/language_numbers.h"
#include "runtime/data/index/cache_folder.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/manifest/tar_member.h"

// Encoding all transcripts of a large corpus takes long, and every start of a run needs two results
// of it: the labels of each utterance and the frames that the loss needs for them, which decide
// whether it can be used, and the hash of the corpus. Both are cached in one file: an array of
// LabelNeed, then a trailer. The file's
// key is the hash of all that labels depend on, namely [text], the decoder, the pieces and the
// index. A file with another key or wrong contents is made anew, and so is one that a sample of
// 1000 texts contradicts, since a new version of penstock may encode differently under the same
// key.
//
// The hash of the corpus also depends on which utterances are left out, so the trailer says for
// which of them it holds. It is computed in order although threads encode: each takes a block, and
// the blocks are hashed one after another, a bounded number of labels at a time. So it is the same
// for any number of threads. Every field is preceded by its length, so that no two corpora spell
// the same bytes.

namespace penstock::runtime {
namespace {

constexpr std::size_t kBlock = 4096;  // utterances that a thread encodes at once

/// End of the cached file, after a LabelNeed for each utterance.
struct NeedsTrailer {
  char magic[24] = "penstock label needs 2\n";
  std::uint64_t key = 0, left = 0, hash = 0;
  std::uint64_t content = 0;  // XXH3 of everything before this
};

template <class Item>
std::string_view bytes_of(std::span<const Item> items) {
  return {reinterpret_cast<const char*>(items.data()), items.size_bytes()};
}

std::uint64_t hash_of_file(std::string_view needs, const NeedsTrailer& trailer) {
  StreamHash hash;
  hash.add(needs);
  hash.add({reinterpret_cast<const char*>(&trailer), offsetof(NeedsTrailer, content)});
  return hash.digest();
}

/// Calls use(first, end) for blocks of `count` items, in threads.
template <class Use>
void in_blocks(std::size_t count, int threads, Use use) {
  parallel_for((count + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    use(block * kBlock, std::min(count, (block + 1) * kBlock));
  });
}

std::uint64_t hash_of_ids(const LeftOut& left_out) {
  return hash_of(bytes_of(std::span(left_out.ids())));
}

}  // namespace

std::vector<std::int32_t> encode_transcript(const CorpusOptions& options,
                                            const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> labels = tokenizer.encode(text);
  if (!options.loss.writing) return labels;
  // Tokenizers of bytes find their special tokens within texts too.
  const std::int32_t eos = options.loss.writing->eos;
  if (std::ranges::find(labels, eos) != labels.end())
    throw DataError(fmt::format(
        "its text contains '{}', with which texts end (decoder.eos = {}): take it out of the text",
        tokenizer.vocabulary()[static_cast<std::size_t>(eos)].written, eos));
  return labels;
}

LabelNeeds::LabelNeeds(const CorpusOptions& options, const UtteranceIndex& index,
                       const Tokenizer& tokenizer)
    : options_(options), index_(index), tokenizer_(tokenizer) {
  StreamHash key;
  key.add(options.labels_key);
  const std::int32_t eos = options.loss.writing ? options.loss.writing->eos : -1;
  key.add({reinterpret_cast<const char*>(&eos), sizeof eos});
  // The frames of few labels tell losses of one decoder apart, such as TDTs of other durations.
  for (const std::vector<std::int32_t>& few : {std::vector<std::int32_t>{}, {1}, {1, 1}}) {
    const std::int64_t frames = options.loss.frames_needed(few);
    key.add({reinterpret_cast<const char*>(&frames), sizeof frames});
  }
  key.add(tokenizer.model());
  const std::uint64_t id = index.id();
  key.add({reinterpret_cast<const char*>(&id), sizeof id});
  key_ = key.digest();
  if (!options.labels_key.empty() && read()) return;
  find();
}

LabelNeed LabelNeeds::needed(std::size_t utterance) const try {
  const std::vector<std::int32_t> labels =
      encode_transcript(options_, tokenizer_, index_.text(utterance));
  return {static_cast<std::uint32_t>(options_.loss.frames_needed(labels)),
          static_cast<std::uint32_t>(labels.size())};
} catch (const DataError&) {
  return {.frames = LabelNeed::kBad};
}

bool LabelNeeds::read() try {
  const std::size_t size = index_.size() * sizeof(LabelNeed);
  const auto place = cached_file(options_.cache, options_.manifest, ".labels");
  auto handle = open_in_use(place);
  if (!handle) return false;
  MappedFile file(handle->descriptor(), place);
  NeedsTrailer trailer;
  if (file.bytes().size() != size + sizeof trailer) return false;
  std::memcpy(&trailer, file.bytes().data() + size, sizeof trailer);
  const bool known = std::memcmp(trailer.magic, NeedsTrailer().magic, sizeof trailer.magic) == 0;
  if (!known || trailer.key != key_ ||
      trailer.content != hash_of_file(file.bytes().substr(0, size), trailer))
    return false;
  in_use_.emplace(std::move(*handle));
  file_ = std::move(file);
  needs_ = {reinterpret_cast<const LabelNeed*>(file_.bytes().data()), index_.size()};
  if (!holds_for_sample()) {
    spdlog::warn("{} contradicts the manifest's texts: it is made anew", place.string());
    return false;
  }
  left_ = trailer.left;
  hash_ = trailer.hash;
  mark_used(place);
  return true;
} catch (const FileError&) {
  return false;
}

// Encoding some 1,000 texts takes milliseconds; encoding all of them is what the cache saves.
bool LabelNeeds::holds_for_sample() const {
  constexpr std::size_t kSample = 1000;
  const std::size_t step = std::max<std::size_t>(1, index_.size() / kSample);
  for (std::size_t u = 0; u < index_.size(); u += step)
    if (needs_[u] != needed(u)) return false;
  return true;
}

void LabelNeeds::find() {
  found_.resize(index_.size());
  in_blocks(found_.size(), options_.threads, [&](std::size_t first, std::size_t end) {
    for (std::size_t u = first; u < end; ++u) found_[u] = needed(u);
  });
  needs_ = found_;
}

std::uint64_t LabelNeeds::corpus_hash(const LeftOut& left_out,
                                      const std::function<std::uint64_t()>& make) {
  const std::uint64_t left = hash_of_ids(left_out);
  if (hash_ != 0 && left == left_) return hash_;
  left_ = left;
  hash_ = make();
  if (!options_.labels_key.empty()) keep();
  return hash_;
}

void LabelNeeds::keep() const {
  const std::string_view needs = bytes_of(needs_);
  NeedsTrailer trailer{.key = key_, .left = left_, .hash = hash_};
  trailer.content = hash_of_file(needs, trailer);
  // A failure is ignored, because the index already reports that the cache can't be written.
  (void)write_cached(options_.cache, cached_file(options_.cache, options_.manifest, ".labels"),
                     [&](const auto& write) {
                       write(needs);
                       write(bytes_of(std::span<const NeedsTrailer>(&trailer, 1)));
                     });
}

std::uint64_t hash_of_corpus(const UtteranceIndex& index, const LeftOut& left_out,
                             const Tokenizer& tokenizer, const CorpusOptions& options) {
  constexpr std::size_t kAtATime = 16 * kBlock;  // utterances whose labels are in memory at a time
  StreamHash hash;
  const auto add = [&](std::string_view bytes) {
    const std::size_t size = bytes.size();
    hash.add({reinterpret_cast<const char*>(&size), sizeof size});
    hash.add(bytes);
  };
  const std::size_t count = index.size() - left_out.size();
  std::vector<std::vector<std::int32_t>> labels(std::min(count, kAtATime));
  for (std::size_t begin = 0; begin < count; begin += kAtATime) {
    const std::size_t size = std::min(kAtATime, count - begin);
    in_blocks(size, options.threads, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i)
        labels[i] = tokenizer.encode(index.text(left_out.place_of(begin + i)));
    });
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t u = left_out.place_of(begin + i);
      const std::string_view path = index.path(u);
      const AudioLength length = index.length(u);
      const std::int64_t numbers[] = {length.samples, length.rate};
      const std::string_view name = path.substr(path.rfind('/') + 1);
      const auto member = tar_member(name);
      add(member ? std::string_view(member->name) : name);
      add(bytes_of(std::span<const std::int64_t>(numbers)));
      if (const auto first = index.first(u))
        add(bytes_of(std::span<const std::int64_t>(&*first, 1)));
      add(bytes_of(std::span<const std::int32_t>(labels[i])));
      if (options.languages.empty()) continue;
      const std::int32_t prompt = language_number(options.languages, index.language(u));
      add(bytes_of(std::span<const std::int32_t>(&prompt, 1)));
    }
  }
  return hash.digest();
}

}  // namespace penstock::runtime
