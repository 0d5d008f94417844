#include "runtime/huggingface/byte_pair_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/text/byte_pairs/folder.h"

// An import takes the blank's row out of the ids, and an export puts one in. Ids after that row
// move by one, as pieces do.

namespace penstock::runtime {
namespace {

BytePairModel model_of_folder(const std::filesystem::path& folder) try {
  return parse_byte_pairs(byte_pairs_at(folder));
} catch (const DataError& error) {
  throw_fault(folder / kTokenizer, error.what());
}

/// Throws CheckpointError unless row `row` is in the head and no text has its token. It is the row
/// of `role`.
void check_row_of_label_zero(const BytePairModel& model, std::int64_t rows, std::int64_t row,
                             std::string_view role, const std::filesystem::path& folder) {
  if (row < 0 || row >= rows)
    throw_fault(folder / kModelConfig, fmt::format("the row of {} is {}, but the head has {}", role,
                                                   row, counted(rows, "row")));
  const auto at = static_cast<std::size_t>(row);
  if (at >= model.tokens.size() || model.tokens[at].empty()) return;
  const auto token = std::ranges::find(model.added, row, &AddedToken::id);
  if (token == model.added.end() || !token->special)
    throw_fault(folder / kTokenizer,
                fmt::format("has the token '{}' in the row of {}, {}, and texts may have it: that "
                            "row must be of a special token, or have none",
                            model.tokens[at], role, row));
}

/// Removes tokens from row `rows` on, and merges that need them.
void cut_off(BytePairModel& model, std::int64_t rows) {
  if (std::ssize(model.tokens) <= rows) return;
  const auto first = model.tokens.begin() + rows;
  const std::unordered_set<std::string> gone(first, model.tokens.end());
  model.tokens.erase(first, model.tokens.end());
  std::erase_if(model.added, [&](const AddedToken& token) { return token.id >= rows; });
  std::erase_if(model.merges, [&](const auto& merge) {
    return gone.contains(merge.first) || gone.contains(merge.second) ||
           gone.contains(merge.first + merge.second);
  });
}

void remove_row(BytePairModel& model, std::int64_t row) {
  if (row < std::ssize(model.tokens)) model.tokens.erase(model.tokens.begin() + row);
  std::erase_if(model.added, [&](const AddedToken& token) { return token.id == row; });
  for (AddedToken& token : model.added) token.id -= token.id > row ? 1 : 0;
}

void insert_row(BytePairModel& model, std::int64_t row, std::string token) {
  while (std::ranges::find(model.tokens, token) != model.tokens.end())
    token = fmt::format("{}_>", token.substr(0, token.size() - 1));
  if (std::ssize(model.tokens) < row) model.tokens.resize(static_cast<std::size_t>(row));
  model.tokens.insert(model.tokens.begin() + row, token);
  for (AddedToken& other : model.added) other.id += other.id >= row ? 1 : 0;
  model.added.push_back({.text = token, .id = static_cast<std::int32_t>(row), .special = true});
}

}  // namespace

BytePairRows read_byte_pair_rows(const std::filesystem::path& folder, std::int64_t rows,
                                 std::int64_t blank, std::string_view setting) {
  BytePairRows read{model_of_folder(folder), {}};
  check_row_of_label_zero(read.model, rows, blank, name_label_zero(setting), folder);
  const std::int64_t known = std::min(rows, std::ssize(read.model.tokens));
  for (auto token = read.model.tokens.begin() + known; token != read.model.tokens.end(); ++token)
    if (!token->empty()) read.vocabulary.beyond.push_back(*token);
  cut_off(read.model, rows);
  read.vocabulary.tokens = read.model.tokens;
  for (const AddedToken& token : read.model.added)
    if (token.special) read.vocabulary.special.insert(token.text);
  remove_row(read.model, blank);
  return read;
}

void write_byte_pair_tokenizer(const std::filesystem::path& folder, std::string_view bytes,
                               const HeadRows& rows) {
  BytePairModel model = parse_byte_pairs(bytes);
  insert_row(model, rows.blank, std::string(rows.blank_token));
  write_durably(folder / kTokenizer, to_tokenizer_json(model));
  model.tokens.resize(static_cast<std::size_t>(rows.count));
  nlohmann::ordered_json config(named_tokens(rows, model.tokens));
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["clean_up_tokenization_spaces"] = false;
  write_durably(folder / kTokenizerConfig, config.dump(2) + "\n");
}

}  // namespace penstock::runtime
