#include "runtime/data/manifest/unknown_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/missing_manifest.h"
#include "runtime/data/manifest/tar_member.h"

// A folder that is no manifest is most often a corpus above or below the place that is. Manifests
// are looked for in the folder and below it, and then above it. Those of training are preferred.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

using Files = std::vector<fs::path>;

bool ends_with_any(const fs::path& file, std::initializer_list<const char*> ends) {
  return std::ranges::any_of(ends, [&](const char* end) { return file.native().ends_with(end); });
}

/// Returns true for tables and JSON lines.
bool is_list(const fs::path& file) {
  return ends_with_any(file, {".tsv", ".tsv.gz", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz"});
}

/// Returns true for a .json that one of the words of its name shows to be a list: most others are
/// settings, such as config.json.
bool is_json_list(const fs::path& file) {
  constexpr std::array<std::string_view, 8> kWords = {"manifest", "train", "dev",   "valid",
                                                      "test",     "clean", "dirty", "GigaSpeech"};
  std::string name = file.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return file.extension() == ".json" &&
         std::ranges::any_of(split(name, '_'), [&](const std::string& word) {
           return std::ranges::find(kWords, word) != kWords.end();
         });
}

/// Returns the list that is likeliest meant; "" if there is none. Plain JSON comes last. Lhotse's
/// recordings have no texts.
fs::path likely_list(const Files& files) {
  const auto has = [](const fs::path& file, const char* part) {
    return file.filename().string().find(part) != std::string::npos;
  };
  for (const auto is_meant : {is_list, is_json_list})
    for (const char* part : {"train", ""}) {
      const auto found = std::ranges::find_if(files, [&](const fs::path& file) {
        return is_meant(file) && has(file, part) && !has(file, "_recordings");
      });
      if (found != files.end()) return *found;
    }
  return {};
}

/// Returns the files in a folder, sorted, but none below it.
Files files_in(const fs::path& folder) {
  Files files;
  std::error_code error;
  fs::directory_iterator item(folder, error);
  for (; !error && item != fs::directory_iterator(); item.increment(error))
    files.push_back(item->path());
  std::ranges::sort(files);
  return files;
}

/// Returns the name by which data.train takes a list: GigaSpeech.json needs a subset.
std::string usable_name(const fs::path& list) {
  return list.filename() == "GigaSpeech.json" ? list.string() + ":M" : list.string();
}

/// Describes what a folder above has that may list these recordings; "" if nothing is found. The
/// second folder above counts if the first is audio/, as in FLEURS and GigaSpeech.
std::string describe_above(const fs::path& folder) {
  std::error_code error;
  fs::path above = fs::absolute(folder, error).lexically_normal();
  if (!above.has_filename()) above = above.parent_path();
  do {
    above = above.parent_path();
    if (is_mls_set(above) || exists_at(above / "wav.scp") || exists_at(above / "metadata.csv") ||
        exists_at(above / "stm"))
      return fmt::format(" Name the folder of its set, perhaps {}", above.string());
    if (const fs::path list = likely_list(files_in(above)); !list.empty())
      return fmt::format(" Name what lists its recordings, perhaps {}", usable_name(list));
  } while (above.filename() == "audio");
  return {};
}

/// Describes what to name or to do, judged by the files in the folder and below it; "" if nothing
/// is found.
std::string describe_below(const Files& files) {
  const auto find = [&](auto is) {
    const auto found = std::ranges::find_if(files, is);
    return found == files.end() ? fs::path() : *found;
  };
  const auto named = [](const char* name) {
    return [name](const fs::path& file) { return file.filename() == name; };
  };
  if (const fs::path kaldi = find(named("wav.scp")); !kaldi.empty())
    return fmt::format(" Of its folders, name a single one, such as {}",
                       kaldi.parent_path().string());
  if (const fs::path list = likely_list(files); !list.empty())
    return fmt::format(" Of its lists, name a single one, such as {}", usable_name(list));
  if (const fs::path parquet =
          find([](const fs::path& file) { return file.extension() == ".parquet"; });
      !parquet.empty())
    return fmt::format(" Convert its Parquet, by tools/parquet_manifest NAME.jsonl {}",
                       (parquet.parent_path() / "*.parquet").string());
  if (find([](const fs::path& file) { return file.extension() == ".arrow"; }) != fs::path())
    return " Write its Arrow files as Parquet, by Dataset.to_parquet() of Hugging Face's datasets, "
           "and convert that, by tools/parquet_manifest";
  if (const fs::path archive = find(
          [](const fs::path& file) { return is_tar_name(file) || file.extension() == ".zip"; });
      !archive.empty())
    return fmt::format(
        " Unpack its archives, by {} {}, and name the folder or the table that they "
        "hold",
        archive.extension() == ".zip" ? "unzip" : "tar -xf", archive.string());
  return {};
}

/// Describes what a folder holds, where no name is likelier than its own.
std::string describe_alone(const Files& files) {
  if (files.empty()) return "is empty: unpack or copy the corpus there";
  if (std::ranges::any_of(files, [](const fs::path& file) { return file.extension() == ".txt"; }))
    return "has texts, but no recordings (*.flac, *.wav, *.opus, …): unpack or copy them there";
  return {};
}

}  // namespace

void refuse_folder(const fs::path& folder, const Files& files) {
  std::string advice = describe_below(files);
  if (advice.empty()) advice = describe_above(folder);
  const std::string alone = advice.empty() ? describe_alone(files) : "";
  if (!alone.empty()) throw DataError(fmt::format("{}: this folder {}", folder.string(), alone));
  if (advice.empty())
    advice =
        " Those are *.trans.txt (LibriSpeech), wav.scp (Kaldi), metadata.csv (LJSpeech), "
        "tarred_audio_manifest.json (NeMo), transcripts.txt and audio/ (MLS), *.stm (TED-LIUM), "
        "tars (WebDataset), and a NAME.txt beside each recording. List its recordings in a "
        "manifest";
  const auto sounds = std::ranges::count_if(files, is_sound);
  throw DataError(fmt::format("{}: this folder has {}no transcripts that are known.{}",
                              folder.string(),
                              sounds > 0 ? counted(sounds, "recording") + ", but " : "", advice));
}

}  // namespace penstock::runtime
