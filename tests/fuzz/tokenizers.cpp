#include <algorithm>
#include <string>
#include <vector>

#include "runtime/huggingface/byte_pair_rows.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/peft_config.h"
#include "runtime/huggingface/piece_model.h"
#include "runtime/huggingface/vocabulary.h"
#include "runtime/huggingface/write_tokenizer.h"
#include "runtime/text/byte_pairs.h"
#include "runtime/text/byte_pairs/folder.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/fuzz/parts.h"
#include "tests/fuzz/readers.h"
#include "tests/support/system/temporary_folder.h"

// These are the readers of a Hugging Face folder or adapter but its weights. The number of a head's
// rows, which the weights tell, is a byte of the input.

namespace penstock::test {
namespace {

constexpr std::string_view kText = "a low ox";

runtime::HeadLabels take_head(std::string_view& bytes, runtime::TokenizerKind kind) {
  const auto rows = static_cast<std::int64_t>(take_byte(bytes) % 16 + 1);
  return {.kind = kind, .rows = rows, .blank = static_cast<std::int64_t>(take_byte(bytes)) % rows};
}

}  // namespace

void read_adapter_config(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / runtime::kAdapterConfig, bytes);
  expect_answer([&] {
    const auto config = runtime::read_peft_config(folder.path() / runtime::kAdapterConfig);
    (void)runtime::rank_of(config, "layers.0.q_proj");
    (void)runtime::scale_of(config, "layers.0.q_proj");
    (void)runtime::to_json_text(config);
  });
}

void read_vocabulary_files(std::string_view bytes) {
  const TemporaryFolder folder;
  const auto head = take_head(bytes, runtime::TokenizerKind::characters);
  for (const char* name : {runtime::kVocabulary, runtime::kTokenizerConfig, runtime::kAddedTokens})
    if (const auto part = take_part(bytes); !part.empty()) write_file(folder.path() / name, part);
  expect_answer([&] { (void)runtime::read_vocabulary(folder.path(), head); });
}

void read_tokenizer_json(std::string_view bytes) {
  const TemporaryFolder folder;
  const auto head = take_head(bytes, runtime::TokenizerKind::pieces);
  write_file(folder.path() / runtime::kTokenizer, bytes);
  expect_answer([&] {
    const auto vocabulary = runtime::read_vocabulary(folder.path(), head);
    const auto made = runtime::make_piece_model(folder.path(), vocabulary, head.blank, "a.model");
    const runtime::SentencePieces pieces(made.bytes, made.text);
    (void)pieces.decode(pieces.encode(kText));
  });
}

namespace {

/// Uses a byte-level BPE in all ways. Its labels may be many, so only the last ones are decoded.
void use_byte_pairs(const std::string& json) {
  const runtime::BytePairs pairs(json, {});
  expect_answer([&] { (void)pairs.decode(pairs.encode(kText)); });
  expect_answer([&] { (void)pairs.encode("It's <|endoftext|> e\u0301 12 \u65e5"); });
  std::vector<std::int32_t> last;
  for (std::int32_t label = std::max(0, pairs.labels() - 400); label < pairs.labels(); ++label)
    last.push_back(label);
  (void)pairs.decode(last);
  (void)runtime::parse_byte_pairs(
      runtime::to_tokenizer_json(runtime::parse_byte_pairs(pairs.model())));
}

}  // namespace

void read_byte_pair_json(std::string_view bytes) {
  expect_answer([&] { use_byte_pairs(std::string(bytes)); });
  (void)runtime::has_byte_pairs(bytes);
  const TemporaryFolder folder;
  write_file(folder.path() / runtime::kTokenizer, bytes);
  expect_answer([&] {
    const auto rows = runtime::read_byte_pair_rows(folder.path(), 300, 299);
    runtime::write_byte_pair_tokenizer(folder.path(), runtime::to_tokenizer_json(rows.model),
                                       {.count = 400, .blank = 7});
  });
}

void read_byte_pair_files(std::string_view bytes) {
  const TemporaryFolder folder;
  for (const char* name : {runtime::kTokenizerConfig, runtime::kMerges, runtime::kAddedTokens})
    if (const auto part = take_part(bytes); !part.empty()) write_file(folder.path() / name, part);
  write_file(folder.path() / runtime::kVocabulary, bytes);
  expect_answer([&] { use_byte_pairs(runtime::byte_pairs_at(folder.path())); });
}

void read_piece_model(std::string_view bytes) {
  expect_answer([&] { (void)runtime::to_model_bytes(runtime::parse_model_bytes(bytes)); });
  expect_answer([&] {
    configs::TextConfig text;
    text.kind = "sentencepiece";
    const runtime::SentencePieces pieces(std::string(bytes), text);
    (void)pieces.pieces();
    std::vector<std::int32_t> all;
    for (std::int32_t label = 0; label < pieces.labels(); ++label) all.push_back(label);
    expect_answer([&] { (void)pieces.decode(all); });
    expect_answer([&] { (void)pieces.decode(pieces.encode(kText)); });
    const TemporaryFolder folder;
    runtime::write_piece_tokenizer(folder.path(), bytes, {.count = pieces.labels(), .blank = 0});
  });
}

void read_model_config(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / runtime::kModelConfig, take_part(bytes));
  write_file(folder.path() / runtime::kPreprocessorConfig, bytes);
  expect_answer([&] {
    runtime::FolderSettings settings = runtime::read_folder(folder.path());
    const runtime::Architecture architecture =
        runtime::architecture_of(settings.config, settings.config_file.string());
    (void)runtime::find_headless(architecture, settings.config);
    runtime::read_features(settings);
    (void)runtime::config_of(architecture, settings, {});
  });
}

}  // namespace penstock::test
